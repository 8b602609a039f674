internal import Crypto
package import Foundation

/// Seals payloads for storage: AES-256-GCM under the keyring, bound to the place where they are stored.
///
/// A sealed value is one byte of format (1), four of key number, big-endian, twelve of nonce, the ciphertext, and
/// sixteen of tag.
package struct Vault: Sendable {
    private static let format: UInt8 = 1
    private static let headerLength = 5
    private static let overhead = 5 + 12 + 16

    private let keyring: Keyring

    package init(_ keyring: Keyring) {
        self.keyring = keyring
    }

    /// Seals with the first key and a fresh random nonce.
    package func seal(_ plaintext: some DataProtocol, in place: SealedPlace) throws -> Data {
        let key = self.keyring.keys[0]
        let box = try AES.GCM.seal(plaintext, using: key.secret, authenticating: place.bytes(key: key.number))
        var sealed = Data(capacity: plaintext.count + Self.overhead)
        sealed.append(Self.format)
        withUnsafeBytes(of: key.number.bigEndian) { sealed.append(contentsOf: $0) }
        sealed.append(contentsOf: box.nonce)
        sealed.append(box.ciphertext)
        sealed.append(box.tag)
        return sealed
    }

    /// Opens what `seal` made for the same place; throws `VaultError` for anything else.
    package func open(_ sealed: Data, in place: SealedPlace) throws(VaultError) -> Data {
        guard sealed.count >= Self.overhead, sealed.first == Self.format else { throw .unreadable }
        let number = sealed.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: 1, as: UInt32.self)) }
        guard let key = self.keyring.keys.first(where: { $0.number == number }) else { throw .keyMissing(number) }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed.dropFirst(Self.headerLength))
            return try AES.GCM.open(box, using: key.secret, authenticating: place.bytes(key: number))
        } catch {
            throw .unreadable
        }
    }
}

/// The row and column that a sealed value belongs to; anywhere else it does not open.
package enum SealedPlace: Sendable, Hashable {
    /// A notification's payload, by its id and who has sent it.
    case payload(NotificationID, sender: Int64)
    /// An entry of the audit, by its number.
    case audit(Int64)

    /// One byte for the column, four for the key's number, eight for the row's id, eight for what else it is bound to,
    /// big-endian.
    func bytes(key: UInt32) -> [UInt8] {
        let (column, row, other): (UInt8, Int64, Int64) =
            switch self {
            case .payload(let id, let sender): (1, id.rawValue, sender)
            case .audit(let number): (2, number, 0)
            }
        return [UInt8](unsafeUninitializedCapacity: 21) { bytes, count in
            let raw = UnsafeMutableRawBufferPointer(bytes)
            raw.storeBytes(of: column, as: UInt8.self)
            raw.storeBytes(of: key.bigEndian, toByteOffset: 1, as: UInt32.self)
            raw.storeBytes(of: row.bigEndian, toByteOffset: 5, as: Int64.self)
            raw.storeBytes(of: other.bigEndian, toByteOffset: 13, as: Int64.self)
            count = 21
        }
    }
}

/// A sealed value that does not open.
package enum VaultError: Error, Hashable {
    /// Damaged, forged, or moved from another place.
    case unreadable
    /// Sealed with a key that the keyring no longer has.
    case keyMissing(UInt32)
}
