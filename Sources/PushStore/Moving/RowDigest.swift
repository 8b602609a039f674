package import Cryptography
package import Foundation

/// A keyed hash over rows in their order, and the number of rows. Two tables with equal digests
/// have the same rows.
package struct RowDigest {
    package private(set) var count = 0
    private var code: HMAC<SHA256>

    package init(key: SymmetricKey) {
        self.code = HMAC(key: key)
    }

    package mutating func add(_ rows: [MovedRow]) {
        var bytes: [UInt8] = []
        for row in rows {
            bytes.removeAll(keepingCapacity: true)
            for value in row { Self.append(value, to: &bytes) }
            self.code.update(data: bytes)
        }
        self.count += rows.count
    }

    /// The keyed hash over all rows so far.
    package var value: Data { Data(self.code.finalize()) }

    // MARK: - Private

    /// Appends the bytes of a value. They begin with the value's type, and with its length if
    /// lengths vary. So different values have different bytes.
    private static func append(_ value: MovedValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(0)
        case .integer(let number):
            bytes.append(1)
            Swift.withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        case .boolean(let flag): bytes.append(flag ? 3 : 2)
        case .text(let text):
            bytes.append(4)
            Swift.withUnsafeBytes(of: text.utf8.count.bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text.utf8)
        case .bytes(let data):
            bytes.append(5)
            Swift.withUnsafeBytes(of: data.count.bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: data)
        }
    }
}
