internal import Cryptography
package import Foundation
internal import Synchronization

/// Encrypts values for storage, with AES-256-GCM and the keys of the keyring. Each value is bound
/// to the place in which it is stored.
///
/// An encrypted value consists of one byte for the format, four bytes for the number of the key
/// (big-endian), twelve for the nonce, the ciphertext, and sixteen for the authentication tag. In
/// format 1 the number is that of a key of the keyring; in format 2 it is the number of the day
/// whose key has encrypted the value.
package final class Vault: Sendable {
    /// The offsets of the key number in an encrypted value.
    package static let keyNumber = 1..<5

    /// The formats of values that are encrypted with a key of the keyring (`format`) and with the
    /// key of a day (`dayFormat`).
    package static let (format, dayFormat): (UInt8, UInt8) = (1, 2)
    private static let headerLength = 5
    /// How many bytes longer an encrypted value is than its plaintext.
    package static let overhead = 5 + 12 + 16

    private let oldest: Ring
    /// The day keys; `nil` if the keyring encrypts all values.
    package let days: DayKeys?

    package init(_ keyring: Keyring, days: DayKeys? = nil) {
        self.oldest = Ring(keyring, isSealing: true)
        self.days = days
    }

    /// The keyring that is in use now.
    package var keyring: Keyring { self.ring.keyring }

    /// Replaces the keyring; calls of `seal` and `open` that run meanwhile may still use the old
    /// one. If `isSealing` is `false`, the vault only decrypts, until the keyring is replaced
    /// again.
    package func replaceKeyring(_ keyring: Keyring, isSealing: Bool = true) {
        let ring = Ring(keyring, isSealing: isSealing)
        var last = self.ring
        while true {
            let next = last.next.storeIfNil(ring)
            if next === ring { return }
            last = next
        }
    }

    /// Whether the vault encrypts.
    package var isSealing: Bool { self.ring.isSealing }

    /// Encrypts a value with the keyring's first key and a new random nonce. Throws
    /// `VaultError.sealingStopped` if the vault only decrypts.
    package func seal(_ plaintext: some DataProtocol, in place: SealedPlace) throws -> Data {
        let ring = self.ring
        guard ring.isSealing else { throw VaultError.sealingStopped }
        let key = ring.keyring.keys[0]
        let box = try AES.GCM.seal(plaintext, using: key.secret, authenticating: place.bytes(key: key.number))
        ring.seals.wrappingAdd(1, ordering: .relaxed)
        return Self.bytes(of: box, format: Self.format, number: key.number)
    }

    /// Encrypts a value with the key of the last day on which it must be possible to decrypt the
    /// value. While no day keys are in use, encrypts it with the keyring.
    package func seal(_ plaintext: some DataProtocol, in place: SealedPlace, until: SealedUntil) throws -> Data {
        guard let days, days.isSealing, let key = days.key(of: until.day) else {
            return try self.seal(plaintext, in: place)
        }
        let number = until.day.number
        let box = try AES.GCM.seal(plaintext, using: key, authenticating: place.bytes(key: number))
        return Self.bytes(of: box, format: Self.dayFormat, number: number)
    }

    private static func bytes(of box: AES.GCM.SealedBox, format: UInt8, number: UInt32) -> Data {
        guard let combined = box.combined else { preconditionFailure("a nonce that was not given has twelve bytes") }
        var sealed = Data(capacity: Self.headerLength + combined.count)
        sealed.append(format)
        withUnsafeBytes(of: number.bigEndian) { sealed.append(contentsOf: $0) }
        sealed.append(combined)
        return sealed
    }

    /// Decrypts a value that `seal` made for the same place; throws `VaultError` for any other
    /// value.
    package func open(_ sealed: some ContiguousBytes, in place: SealedPlace) throws(VaultError) -> Data {
        do {
            return try sealed.withUnsafeBytes { sealed in
                var plaintext = Data(count: Self.plaintextCount(of: sealed))
                try plaintext.withUnsafeMutableBytes { try self.open(sealed, in: place, into: $0) }
                return plaintext
            }
        } catch {
            throw error as? VaultError ?? .unreadable
        }
    }

    /// Decrypts a value into memory of `plaintextCount` bytes, which are all zeros after an error.
    package func open(
        _ sealed: UnsafeRawBufferPointer,
        in place: SealedPlace,
        into plaintext: UnsafeMutableRawBufferPointer
    ) throws(VaultError) {
        do throws(VaultError) {
            let number = try Self.keyNumber(of: sealed)
            let key = try self.key(number, isOfDay: sealed.first == Self.dayFormat)
            let box = UnsafeRawBufferPointer(rebasing: sealed[Self.headerLength...])
            try place.withBytes(key: number) { (place) throws(VaultError) in
                do throws(CryptoKitError) {
                    try AES.GCM.open(box, using: key, authenticating: place, into: plaintext)
                } catch {
                    throw .unreadable
                }
            }
        } catch {
            plaintext.initializeMemory(as: UInt8.self, repeating: 0)
            throw error
        }
    }

    /// The length in bytes of a decrypted value; 0 if `sealed` is too short to be an encrypted
    /// value.
    package static func plaintextCount(of sealed: some Collection<UInt8>) -> Int {
        max(0, sealed.count - self.overhead)
    }

    /// The value, encrypted again with the keyring's first key; `nil` if this key, or a day's key,
    /// encrypts the value already.
    package func renewed(_ sealed: Data, in place: SealedPlace) throws -> Data? {
        let number = try sealed.withUnsafeBytes { try Self.keyNumber(of: $0) }
        guard number != self.keyring.sealing, sealed.first == Self.format else { return nil }
        return try self.seal(self.open(sealed, in: place), in: place)
    }

    /// How many values were encrypted with each key since the last call.
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

    /// Adds counts again that `takeSeals` has returned, but that could not be stored.
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

    private func key(_ number: UInt32, isOfDay: Bool) throws(VaultError) -> SymmetricKey {
        if isOfDay {
            let day = Day(number: number)
            guard let days else { throw .dayKeyMissing(day) }
            if let key = days.key(of: day) { return key }
            throw day < days.chain.day ? .dayKeyMissing(day) : .unreadable
        }
        let keys = self.ring.keyring.keys
        guard let index = keys.firstIndex(where: { $0.number == number }) else { throw .keyMissing(number) }
        return keys[index].secret
    }

    private static func keyNumber(of sealed: UnsafeRawBufferPointer) throws(VaultError) -> UInt32 {
        guard sealed.count >= Self.overhead, sealed.first == Self.format || sealed.first == Self.dayFormat else {
            throw .unreadable
        }
        return UInt32(bigEndian: sealed.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
    }
}

/// A keyring, with the keyring that has replaced it as `next`. The linked list has no lock, since
/// every fetch reads the list. The list grows only when an operator changes the keys.
private final class Ring: Sendable {
    let keyring: Keyring
    let isSealing: Bool
    let seals = Atomic(0)
    let next = LazyReference<Ring>()

    init(_ keyring: Keyring, isSealing: Bool) {
        self.keyring = keyring
        self.isSealing = isSealing
    }
}

/// The reason why an encrypted value cannot be decrypted.
package enum VaultError: Error, Hashable, CustomStringConvertible {
    /// The value is damaged, forged, or moved from another place.
    case unreadable
    /// The value is encrypted with a key that the keyring no longer has.
    case keyMissing(UInt32)
    /// The value is encrypted with the key of a day; this key was destroyed, or this server never
    /// had it.
    case dayKeyMissing(Day)
    /// This server encrypts nothing, since it lacks a key that other servers use to encrypt.
    case sealingStopped

    package var description: String {
        switch self {
        case .unreadable: "an encrypted value cannot be decrypted"
        case .keyMissing(let number): "a value is encrypted with key \(number), which the keyring lacks"
        case .sealingStopped:
            "this server encrypts nothing, because its keyring lacks a key that other servers encrypt with"
        case .dayKeyMissing(let day):
            "a value is encrypted with the day key of \(day), which was destroyed or is missing"
        }
    }
}
