internal import COpenSSL
internal import SocketTLS

/// The use of a P-256 key for key agreement.
extension SigningKey {
    /// The public key, an uncompressed point of 65 bytes. Throws if this is not a P-256 key.
    func publicPoint() throws(OpenSSLError) -> [UInt8] {
        try self.withPointer { key throws(OpenSSLError) in
            var point = [UInt8](repeating: 0, count: 65)
            var count = 0
            let name = OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY
            let result = EVP_PKEY_get_octet_string_param(key, name, &point, point.count, &count)
            try OpenSSLError.check("EVP_PKEY_get_octet_string_param", count == 65 ? result : 0)
            return point
        }
    }

    /// The ECDH shared secret of the two keys, 32 bytes. Throws if this is not a P-256 key.
    func sharedSecret(with other: P256PublicKey) throws(OpenSSLError) -> [UInt8] {
        try self.withPointer { own throws(OpenSSLError) in
            try other.withPointer { other throws(OpenSSLError) in
                let context = try OpenSSLError.check("EVP_PKEY_CTX_new", EVP_PKEY_CTX_new(own, nil))
                defer { EVP_PKEY_CTX_free(context) }
                try OpenSSLError.check("EVP_PKEY_derive_init", EVP_PKEY_derive_init(context))
                try OpenSSLError.check("EVP_PKEY_derive_set_peer", EVP_PKEY_derive_set_peer(context, other))
                var secret = [UInt8](repeating: 0, count: 32)
                var count = secret.count
                try OpenSSLError.check("EVP_PKEY_derive", EVP_PKEY_derive(context, &secret, &count))
                return secret
            }
        }
    }
}
