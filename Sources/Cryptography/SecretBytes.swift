internal import COpenSSL

/// Bytes that are overwritten before their memory is freed, and the AES contexts with these bytes
/// as a key.
///
/// `@unchecked Sendable`: the bytes are written in `init` only, and the contexts are made at most
/// once.
package final class SecretBytes: @unchecked Sendable {
    private let bytes: UnsafeRawBufferPointer
    private let sealingContexts = LazyReference<SealingContexts>()

    /// Allocates `count` zero bytes, which `fill` then overwrites.
    init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        // `self.bytes` is set before `fill` runs, so that `deinit` wipes the bytes even if `fill`
        // throws.
        self.bytes = UnsafeRawBufferPointer(bytes)
        try fill(bytes)
    }

    package convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    convenience init(randomCount count: Int) {
        self.init(count: count) { bytes in
            let result = RAND_priv_bytes_ex(nil, bytes.baseAddress, bytes.count, 0)
            // Without random bytes nothing can be kept secret, so the process ends.
            precondition(result == 1, "libcrypto has no random bytes")
        }
    }

    deinit {
        let bytes = UnsafeMutableRawBufferPointer(mutating: self.bytes)
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
        bytes.deallocate()
    }

    var count: Int { self.bytes.count }

    /// Runs `body` with the bytes. There is no other access: a pointer alone would not keep this
    /// object in memory, and the bytes are wiped when the object is released.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(self.bytes)
    }

    /// The contexts for encryption and decryption. Throws if AES has no keys of this size.
    func forSealing() throws(CryptoKitError) -> SealingContexts {
        if let contexts = self.sealingContexts.load() { return contexts }
        return self.sealingContexts.storeIfNil(try SealingContexts(keyByteCount: self.bytes.count))
    }
}
