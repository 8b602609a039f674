#pragma once
// The parts of OpenSSL 3 that are used; macros that Swift cannot import are repeated as one-line functions.
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// HTTP itself says where a message ends, so a connection without a close_notify is never taken for a complete message.
static inline uint64_t copenssl_server_options(void) {
    return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF
        | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
}
static inline int copenssl_set_groups(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_groups_list(context, list);
}
static inline void copenssl_set_server_name_callback(
    SSL_CTX *context, int (*callback)(SSL *, int *, void *), void *argument) {
    SSL_CTX_set_tlsext_servername_callback(context, callback);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}
static inline int copenssl_use_hmac_sha256(EVP_MAC_CTX *mac, const unsigned char *key, size_t count) {
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key, count),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, params);
}
static inline EVP_PKEY *copenssl_make_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *copenssl_make_rsa2048_key(void) { return EVP_RSA_gen(2048); }
static inline int copenssl_set_p256_key(
    EVP_PKEY_CTX *context, EVP_PKEY **key, const unsigned char *point, size_t point_count, unsigned char *native_scalar,
    size_t scalar_count) {
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"P-256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, point_count),
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, native_scalar, scalar_count),
        OSSL_PARAM_construct_end(),
    };
    return EVP_PKEY_fromdata(context, key, EVP_PKEY_KEYPAIR, params);
}

static inline int copenssl_set_rsa_public_key(
    EVP_PKEY **key, const unsigned char *n, size_t n_count, const unsigned char *e, size_t e_count) {
    BIGNUM *modulus = BN_bin2bn(n, (int)n_count, NULL), *exponent = BN_bin2bn(e, (int)e_count, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    OSSL_PARAM *params = NULL;
    int result = modulus && exponent && builder && context
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent)
        && (params = OSSL_PARAM_BLD_to_param(builder)) && EVP_PKEY_fromdata_init(context) == 1
        && EVP_PKEY_fromdata(context, key, EVP_PKEY_PUBLIC_KEY, params) == 1;
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_BLD_free(builder);
    BN_free(exponent);
    BN_free(modulus);
    return result;
}

// These functions are deprecated, which Swift would treat as an error. SHA256.swift says why they are used.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static inline int copenssl_sha256_init(SHA256_CTX *state) { return SHA256_Init(state); }
static inline int copenssl_sha256_update(SHA256_CTX *state, const void *bytes, size_t count) {
    return SHA256_Update(state, bytes, count);
}
static inline int copenssl_sha256_final(unsigned char *hash, SHA256_CTX *state) { return SHA256_Final(hash, state); }
#pragma clang diagnostic pop
