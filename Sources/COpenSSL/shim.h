#pragma once
// The parts of OpenSSL 3 that are used; macros that Swift cannot import are repeated as one-line functions.
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline uint64_t copenssl_no_renegotiation(void) { return SSL_OP_NO_RENEGOTIATION; }
static inline uint64_t copenssl_ignore_unexpected_eof(void) { return SSL_OP_IGNORE_UNEXPECTED_EOF; }
static inline EVP_PKEY *copenssl_make_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *copenssl_make_rsa2048_key(void) { return EVP_RSA_gen(2048); }
