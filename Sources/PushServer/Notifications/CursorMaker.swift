internal import Crypto
internal import CryptoExtras
internal import Foundation

/// Turns the numbers of changes into cursors, and cursors back into numbers.
///
/// One block of AES over the number and its reader, under a key of its own: the same each time, so that it can be a
/// validator, and it tells nothing of how much happens here, nor can a cursor be made of another's. Two in 2^64 texts
/// that somebody invents would be taken for one.
struct CursorMaker: Sendable {
    /// A list that a cursor has been given out with, and is good for.
    struct List: Sendable, Hashable {
        let user: Int64
        /// What was left out there must not be missed in the other.
        let isUnreadOnly: Bool

        fileprivate var number: UInt64 { UInt64(bitPattern: self.user) | (self.isUnreadOnly ? 1 << 63 : 0) }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// Characters of base64url for sixteen bytes.
    private static let length = 22

    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key
    }

    func cursor(at change: Int64, of list: List) -> String {
        var block = [UInt8]()
        block.append(bigEndian: UInt64(bitPattern: change))
        block.append(bigEndian: list.number)
        // Throws for another length of block or key only.
        try? AES.permute(&block, key: self.key)
        return Self.text(of: block)
    }

    /// The number of the change that it stands behind; `nil` if it was not given out with that list.
    func change(at cursor: String, of list: List) -> Int64? {
        guard var block = Self.block(of: cursor), (try? AES.inversePermute(&block, key: self.key)) != nil else {
            return nil
        }
        let number = block.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let reader = block.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard reader == list.number, number <= Int64.max else { return nil }
        return Int64(number)
    }

    // MARK: - Private

    private static func text(of block: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: self.length) { text in
            for index in 0..<self.length {
                var sextet: UInt8 = 0
                for bit in index * 6..<index * 6 + 6 {
                    let isSet = bit < 128 && block[bit / 8] >> (7 - bit % 8) & 1 == 1
                    sextet = sextet << 1 | (isSet ? 1 : 0)
                }
                text[index] = self.alphabet[Int(sextet)]
            }
            return self.length
        }
    }

    /// `nil` unless it is what `text(of:)` writes: no padding, and no bit beyond the last byte.
    private static func block(of text: String) -> [UInt8]? {
        guard text.utf8.count == self.length else { return nil }
        var block = [UInt8](repeating: 0, count: 16)
        for (index, character) in text.utf8.enumerated() {
            guard let sextet = self.alphabet.firstIndex(of: character) else { return nil }
            for bit in 0..<6 where sextet >> (5 - bit) & 1 == 1 {
                let place = index * 6 + bit
                guard place < 128 else { return nil }
                block[place / 8] |= 1 << (7 - place % 8)
            }
        }
        return block
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: UInt64) {
        Swift.withUnsafeBytes(of: number.bigEndian) { self.append(contentsOf: $0) }
    }
}
