internal import Crypto
package import Foundation
internal import Synchronization

/// Seals values for storage: AES-256-GCM under the keyring, bound to the place where they are stored.
///
/// A sealed value is one byte of format (1), four of key number, big-endian, twelve of nonce, the ciphertext, and
/// sixteen of tag.
package final class Vault: Sendable {
    /// The offsets of the key number in a sealed value.
    package static let keyNumber = 1..<5

    private static let format: UInt8 = 1
    private static let headerLength = 5
    /// How many bytes a sealed value is longer than its plaintext.
    package static let overhead = 5 + 12 + 16

    private let oldest: Ring

    package init(_ keyring: Keyring) {
        self.oldest = Ring(keyring)
    }

    /// The keyring that is in use now.
    package var keyring: Keyring { self.ring.keyring }

    /// Replaces the keyring; calls of `seal` and `open` that run meanwhile may still use the old one.
    package func exchange(_ keyring: Keyring) {
        let ring = Ring(keyring)
        var last = self.ring
        while true {
            let next = last.next.storeIfNil(ring)
            if next === ring { return }
            last = next
        }
    }

    /// Seals with the first key and a fresh random nonce.
    package func seal(_ plaintext: some DataProtocol, in place: SealedPlace) throws -> Data {
        let ring = self.ring
        let key = ring.keyring.keys[0]
        let box = try AES.GCM.seal(plaintext, using: key.secret, authenticating: place.bytes(key: key.number))
        ring.seals.wrappingAdd(1, ordering: .relaxed)
        var sealed = Data(capacity: plaintext.count + Self.overhead)
        sealed.append(Self.format)
        withUnsafeBytes(of: key.number.bigEndian) { sealed.append(contentsOf: $0) }
        sealed.append(contentsOf: box.nonce)
        sealed.append(box.ciphertext)
        sealed.append(box.tag)
        return sealed
    }

    /// Opens a value that `seal` made for the same place; throws `VaultError` for any other.
    package func open(_ sealed: Data, in place: SealedPlace) throws(VaultError) -> Data {
        let number = try Self.keyNumber(of: sealed)
        let keys = self.ring.keyring.keys
        guard let index = keys.firstIndex(where: { $0.number == number }) else { throw .keyMissing(number) }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed.dropFirst(Self.headerLength))
            return try AES.GCM.open(box, using: keys[index].secret, authenticating: place.bytes(key: number))
        } catch {
            throw .unreadable
        }
    }

    /// The value sealed anew with the first key; `nil` if it already is sealed with that key.
    package func renewed(_ sealed: Data, in place: SealedPlace) throws -> Data? {
        guard try Self.keyNumber(of: sealed) != self.keyring.sealing else { return nil }
        return try self.seal(self.open(sealed, in: place), in: place)
    }

    /// How many values were sealed with each key since the last call.
    package func takeSeals() -> [UInt32: Int] {
        var seals: [UInt32: Int] = [:]
        var ring: Ring? = self.oldest
        while let current = ring {
            let count = current.seals.exchange(0, ordering: .relaxed)
            if count > 0 { seals[current.keyring.sealing, default: 0] += count }
            ring = current.next.load()
        }
        return seals
    }

    /// Adds counts back that were taken and could not be stored.
    package func giveBack(_ seals: [UInt32: Int]) {
        for (number, count) in seals {
            var ring: Ring? = self.oldest
            while let current = ring, current.keyring.sealing != number { ring = current.next.load() }
            ring?.seals.wrappingAdd(count, ordering: .relaxed)
        }
    }

    // MARK: - Private

    private var ring: Ring {
        var ring = self.oldest
        while let next = ring.next.load() { ring = next }
        return ring
    }

    private static func keyNumber(of sealed: Data) throws(VaultError) -> UInt32 {
        guard sealed.count >= Self.overhead, sealed.first == Self.format else { throw .unreadable }
        return sealed.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: 1, as: UInt32.self)) }
    }
}

/// A keyring and its successor: a linked list without a lock, since every fetch reads it, and it grows only when an
/// operator changes the keys.
private final class Ring: Sendable {
    let keyring: Keyring
    let seals = Atomic(0)
    let next = AtomicLazyReference<Ring>()

    init(_ keyring: Keyring) {
        self.keyring = keyring
    }
}

/// Why a sealed value cannot be opened.
package enum VaultError: Error, Hashable, CustomStringConvertible {
    /// The value is damaged, forged, or moved from another place.
    case unreadable
    /// The value is sealed with a key that the keyring no longer has.
    case keyMissing(UInt32)

    package var description: String {
        switch self {
        case .unreadable: "an encrypted value cannot be decrypted"
        case .keyMissing(let number): "a value is encrypted with key \(number), which the keyring lacks"
        }
    }
}
