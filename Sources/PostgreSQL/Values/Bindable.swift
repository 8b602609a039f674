package import Foundation

/// A value for a statement's parameter, in the binary format of its type.
///
/// These are the types in the subset of SQL that `docs/scale.md` describes: `bigint`, `boolean`,
/// `text`, `bytea` and arrays of these types.
package protocol Bindable: Sendable {
    /// The type's number in `pg_type`.
    static var typeNumber: UInt32 { get }

    /// The value in the type's binary format; `nil` for SQL's null.
    var binary: Data? { get }

    /// Appends the value in the type's binary format. Returns `false` for SQL's null, which has no
    /// bytes.
    func append(to bytes: inout [UInt8]) -> Bool

    /// Appends several values as the elements of an array: for each, its length and then its
    /// bytes. Returns `true` if one of them is SQL's null.
    static func append(elements: [Self], to bytes: inout [UInt8]) -> Bool
}

extension Bindable {
    package var binary: Data? {
        var bytes: [UInt8] = []
        return self.append(to: &bytes) ? Data(bytes) : nil
    }

    package func append(to bytes: inout [UInt8]) -> Bool {
        guard let binary = self.binary else { return false }
        bytes.append(contentsOf: binary)
        return true
    }

    package static func append(elements: [Self], to bytes: inout [UInt8]) -> Bool {
        var hasNull = false
        for element in elements {
            let length = bytes.count
            bytes.append(number: -1)
            if element.append(to: &bytes) {
                bytes.replace(numberAt: length, with: Int32(clamping: bytes.count - length - 4))
            } else {
                hasNull = true
            }
        }
        return hasNull
    }
}

extension Int64: Bindable {
    package static var typeNumber: UInt32 { 20 }

    /// Appends all numbers in one step. This must be fast: one query fetches notifications for
    /// many callers, and has arrays with a key for each caller.
    package static func append(elements: [Int64], to bytes: inout [UInt8]) -> Bool {
        let size = MemoryLayout<Int32>.size + MemoryLayout<Int64>.size
        withUnsafeTemporaryAllocation(byteCount: elements.count * size, alignment: 1) { room in
            for (index, element) in elements.enumerated() {
                room.storeBytes(of: Int32(8).bigEndian, toByteOffset: index * size, as: Int32.self)
                room.storeBytes(of: element.bigEndian, toByteOffset: index * size + 4, as: Int64.self)
            }
            bytes.append(contentsOf: room)
        }
        return false
    }

    package func append(to bytes: inout [UInt8]) -> Bool {
        withUnsafeBytes(of: self.bigEndian) { bytes.append(contentsOf: $0) }
        return true
    }
}

extension Int: Bindable {
    package static var typeNumber: UInt32 { Int64.typeNumber }
    package func append(to bytes: inout [UInt8]) -> Bool { Int64(self).append(to: &bytes) }
}

extension Bool: Bindable {
    package static var typeNumber: UInt32 { 16 }

    package func append(to bytes: inout [UInt8]) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }
}

extension String: Bindable {
    package static var typeNumber: UInt32 { 25 }

    package func append(to bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: self.utf8)
        return true
    }
}

extension Data: Bindable {
    package static var typeNumber: UInt32 { 17 }
    package var binary: Data? { self }

    package func append(to bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: self)
        return true
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    package static var typeNumber: UInt32 { Wrapped.typeNumber }
    package func append(to bytes: inout [UInt8]) -> Bool { self?.append(to: &bytes) ?? false }
}

/// An array with one dimension, whose first index is 1 (`array_send` in the server's source).
extension Array: Bindable where Element: Bindable {
    package static var typeNumber: UInt32 {
        switch Element.typeNumber {
        case Bool.typeNumber: 1000
        case Data.typeNumber: 1001
        case String.typeNumber: 1009
        default: 1016
        }
    }

    package func append(to bytes: inout [UInt8]) -> Bool {
        bytes.append(number: self.isEmpty ? 0 : 1)
        let nulls = bytes.count
        bytes.append(number: 0)
        bytes.append(number: Int32(bitPattern: Element.typeNumber))
        guard !self.isEmpty else { return true }
        bytes.append(number: Int32(clamping: self.count))
        bytes.append(number: 1)
        if Element.append(elements: self, to: &bytes) { bytes.replace(numberAt: nulls, with: 1) }
        return true
    }
}

extension [UInt8] {
    /// Appends the four bytes of a number, the most significant byte first.
    fileprivate mutating func append(number: Int32) {
        Swift.withUnsafeBytes(of: number.bigEndian) { self.append(contentsOf: $0) }
    }

    fileprivate mutating func replace(numberAt index: Int, with number: Int32) {
        self.withUnsafeMutableBytes { $0.storeBytes(of: number.bigEndian, toByteOffset: index, as: Int32.self) }
    }
}
