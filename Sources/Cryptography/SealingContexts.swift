internal import COpenSSL
internal import Synchronization

/// The idle cipher contexts (libcrypto's objects) of one key: making a context costs as much as
/// decrypting a short text with it.
///
/// Each thread has a slot, takes the context in it, and returns it later; if the slot is empty the
/// thread makes a new context. No thread ever waits, and threads that share a slot are only
/// slower. When the key is released, all its contexts are wiped and freed: a thread that ends
/// leaves no context behind.
///
/// `@unchecked Sendable`: slots are changed by atomic exchange only, so a context has one owner at
/// a time.
final class SealingContexts: @unchecked Sendable {
    /// A slot is as long as a cache line, so that threads do not slow each other down.
    private struct Slot: ~Copyable {
        let context = Atomic<OpaquePointer?>(nil)
        private let rest: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
    }

    private static let slotCount = 16

    private static let cipher128 = SharedObject.cipher("AES-128-GCM")
    private static let cipher192 = SharedObject.cipher("AES-192-GCM")
    private static let cipher256 = SharedObject.cipher("AES-256-GCM")

    private let cipher: SharedObject
    private let slots: UnsafeMutablePointer<Slot>

    /// Throws if AES has no keys of this size.
    init(keyByteCount: Int) throws(CryptoKitError) {
        switch keyByteCount {
        case 16: self.cipher = Self.cipher128
        case 24: self.cipher = Self.cipher192
        case 32: self.cipher = Self.cipher256
        default: throw .incorrectKeySize
        }
        self.slots = .allocate(capacity: Self.slotCount)
        for index in 0..<Self.slotCount { (self.slots + index).initialize(to: Slot()) }
    }

    deinit {
        // Freeing a context wipes it.
        for index in 0..<Self.slotCount { EVP_CIPHER_CTX_free(self.slots[index].context.load(ordering: .acquiring)) }
        self.slots.deinitialize(count: Self.slotCount)
        self.slots.deallocate()
    }

    /// Runs `body` with a context that has the key, and may have been used before; after an error,
    /// the context is not used again.
    func withContext(
        of key: SecretBytes,
        _ body: (OpaquePointer) throws(CryptoKitError) -> Void
    ) throws(CryptoKitError) {
        let index = ThreadNumber.current % Self.slotCount
        let kept = self.slots[index].context.exchange(nil, ordering: .acquiring)
        let context = if let kept { kept } else { try self.make(key) }
        do throws(CryptoKitError) {
            try body(context)
        } catch {
            EVP_CIPHER_CTX_free(context)
            throw error
        }
        let other = self.slots[index].context.exchange(context, ordering: .acquiringAndReleasing)
        if let other { EVP_CIPHER_CTX_free(other) }
    }

    private func make(_ key: SecretBytes) throws(CryptoKitError) -> OpaquePointer {
        let context = LibCrypto.require("EVP_CIPHER_CTX_new", EVP_CIPHER_CTX_new())
        let result = key.withUnsafeBytes { key in
            let bytes = key.assumingMemoryBound(to: UInt8.self).baseAddress
            return EVP_EncryptInit_ex2(context, self.cipher.pointer, bytes, nil, nil)
        }
        guard result == 1 else {
            EVP_CIPHER_CTX_free(context)
            throw LibCrypto.error()
        }
        return context
    }
}
