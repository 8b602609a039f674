#pragma once
// The parts of OpenSSL 3 that are used; macros that Swift cannot import are repeated as one-line functions.
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// HTTP says itself where a message ends, so a missing close_notify cannot pass for one.
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
