package import Foundation

/// A value that a statement's parameter can have, in the binary format of its type.
///
/// These are the types of the subset of SQL that `docs/scale.md` names: `bigint`, `boolean`, `text`, `bytea` and arrays
/// of them.
package protocol Bindable: Sendable {
    /// The type's number in `pg_type`.
    static var typeNumber: UInt32 { get }

    /// The value in the type's binary format; `nil`: SQL's null.
    var binary: Data? { get }
}

extension Int64: Bindable {
    package static var typeNumber: UInt32 { 20 }
    package var binary: Data? { withUnsafeBytes(of: self.bigEndian) { Data($0) } }
}

extension Int: Bindable {
    package static var typeNumber: UInt32 { Int64.typeNumber }
    package var binary: Data? { Int64(self).binary }
}

extension Bool: Bindable {
    package static var typeNumber: UInt32 { 16 }
    package var binary: Data? { Data([self ? 1 : 0]) }
}

extension String: Bindable {
    package static var typeNumber: UInt32 { 25 }
    package var binary: Data? { Data(self.utf8) }
}

extension Data: Bindable {
    package static var typeNumber: UInt32 { 17 }
    package var binary: Data? { self }
}

extension Optional: Bindable where Wrapped: Bindable {
    package static var typeNumber: UInt32 { Wrapped.typeNumber }
    package var binary: Data? { self?.binary }
}

extension Array: Bindable where Element: Bindable {
    package static var typeNumber: UInt32 {
        switch Element.typeNumber {
        case Bool.typeNumber: 1000
        case Data.typeNumber: 1001
        case String.typeNumber: 1009
        default: 1016
        }
    }

    /// One dimension, whose elements are counted from 1 (`array_send` in the server's source).
    package var binary: Data? {
        var bytes = Data()
        func append(_ number: Int32) { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }
        let elements = self.map(\.binary)
        append(elements.isEmpty ? 0 : 1)
        append(elements.contains(nil) ? 1 : 0)
        append(Int32(bitPattern: Element.typeNumber))
        guard !elements.isEmpty else { return bytes }
        append(Int32(clamping: elements.count))
        append(1)
        for element in elements {
            append(element.map { Int32(clamping: $0.count) } ?? -1)
            if let element { bytes.append(element) }
        }
        return bytes
    }
}
