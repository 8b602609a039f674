#pragma once
// The parts of OpenSSL 3 that are used; macros that Swift cannot import are repeated as one-line functions.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
