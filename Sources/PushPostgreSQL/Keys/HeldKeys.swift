internal import Foundation
internal import PushCore

/// The keys of a server's keyring in the form that other servers see. Each key has a number and a
/// check value; the keys are in the order of the keyring.
struct HeldKeys: Sendable, Hashable {
    struct Key: Sendable, Hashable {
        let number: UInt32
        let checkValue: Data
    }

    private static let (numberLength, length) = (4, 20)

    let keys: [Key]

    init(_ keyring: Keyring) {
        self.keys = keyring.numbers.compactMap { number in
            keyring.checkValue(of: number).map { Key(number: number, checkValue: $0) }
        }
    }

    /// Reads the stored form; an incomplete key at the end of `bytes` is ignored.
    init(_ bytes: Data) {
        var (keys, rest) = ([Key](), bytes[...])
        while rest.count >= Self.length {
            let number = rest.prefix(Self.numberLength).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let value = rest.dropFirst(Self.numberLength).prefix(Self.length - Self.numberLength)
            keys.append(Key(number: number, checkValue: Data(value)))
            rest = rest.dropFirst(Self.length)
        }
        self.keys = keys
    }

    var bytes: Data {
        self.keys.reduce(into: Data()) { bytes, key in
            withUnsafeBytes(of: key.number.bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(key.checkValue)
        }
    }

    /// The keys' check values, by the numbers of the keys.
    var checkValues: [UInt32: Data] {
        Dictionary(self.keys.map { ($0.number, $0.checkValue) }) { first, _ in first }
    }
}
