internal import COpenSSL
internal import Synchronization

/// The contexts of one key that wait for their next use: to make one costs as much as to open a short text with it.
///
/// A thread has a slot, takes what is in it, and puts it back; if the slot is empty it makes a new one. Nobody ever waits,
/// threads that share a slot are only slower, and all goes with the key, wiped: nothing is left with a thread that ends.
///
/// `@unchecked Sendable`: slots are changed by atomic exchange only, so a context has one owner at a time.
final class SealingContexts: @unchecked Sendable {
    /// As long as a cache line, so that threads do not slow down each other.
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

    /// Runs `body` with a context that has the key, and may have been used before; after an error it is not used again.
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
