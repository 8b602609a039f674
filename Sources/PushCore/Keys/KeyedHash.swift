package import Cryptography

/// Computes HMAC-SHA-256 (RFC 2104) with one key.
package struct KeyedHash: Sendable {
    private let start: HMAC<SHA256>

    package init(key: SymmetricKey) {
        self.start = HMAC(key: key)
    }

    /// The authentication code of the bytes that `write` adds.
    package func code(_ write: (inout HMAC<SHA256>) -> Void) -> HMAC<SHA256>.MAC {
        var code = self.start
        write(&code)
        return code.finalize()
    }
}
