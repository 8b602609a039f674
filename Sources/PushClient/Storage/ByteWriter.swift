internal import Foundation

/// Writes values in the format that `ByteReader` reads.
struct ByteWriter {
    private(set) var bytes = Data()

    mutating func byte(_ byte: UInt8) { self.bytes.append(byte) }

    /// Writes a number with seven bits in each byte, the low bits first.
    mutating func number(_ number: UInt64) {
        var rest = number
        while rest > 0x7F {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Writes a number in eight bytes, the low byte first.
    mutating func fixed(_ number: UInt64) {
        for place in 0..<8 { self.bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(place)))) }
    }

    mutating func uuid(_ uuid: UUID) { self.bytes.append(contentsOf: withUnsafeBytes(of: uuid.uuid) { Array($0) }) }

    mutating func date(_ date: Date) { self.fixed(date.timeIntervalSinceReferenceDate.bitPattern) }

    mutating func data(_ data: Data) {
        self.number(UInt64(data.count))
        self.bytes.append(data)
    }

    mutating func text(_ text: String) { self.data(Data(text.utf8)) }

    mutating func optional<Value>(_ value: Value?, _ write: (inout ByteWriter, Value) -> Void) {
        self.byte(value == nil ? 0 : 1)
        if let value { write(&self, value) }
    }

    mutating func list<Value>(_ values: [Value], _ write: (inout ByteWriter, Value) -> Void) {
        self.number(UInt64(values.count))
        for value in values { write(&self, value) }
    }

    /// Writes the number of a commit as its distance to the number `now`; a later commit counts as
    /// `now`.
    mutating func age(_ commit: Int64, _ now: Int64) { self.number(UInt64(max(0, now &- commit))) }

    mutating func byId<Value>(_ values: [Int64: Value], _ write: (inout ByteWriter, Value) -> Void) {
        self.number(UInt64(values.count))
        var last: Int64 = 0
        for (id, value) in values.sorted(by: { $0.key < $1.key }) {
            // The first id may be negative; each later one is larger than the id before it.
            self.number(UInt64(bitPattern: id &- last))
            last = id
            write(&self, value)
        }
    }
}

/// Reads numbers, texts and lists, one after the other, from the bytes of a `ByteWriter`.
struct ByteReader {
    struct Malformed: Error {}

    private var rest: Data.SubSequence

    init(_ bytes: Data) { self.rest = bytes[...] }

    var isAtEnd: Bool { self.rest.isEmpty }

    mutating func byte() throws -> UInt8 {
        guard let byte = self.rest.popFirst() else { throw Malformed() }
        return byte
    }

    mutating func number() throws -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try self.byte()
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw Malformed()
    }

    mutating func fixed() throws -> UInt64 {
        try (0..<8).reduce(UInt64(0)) { number, place in try number | UInt64(self.byte()) << (8 * UInt64(place)) }
    }

    mutating func uuid() throws -> UUID {
        var uuid = UUID().uuid
        try withUnsafeMutableBytes(of: &uuid) { bytes in for place in bytes.indices { bytes[place] = try self.byte() } }
        return UUID(uuid: uuid)
    }

    mutating func date() throws -> Date {
        Date(timeIntervalSinceReferenceDate: Double(bitPattern: try self.fixed()))
    }

    mutating func data() throws -> Data {
        let count = try self.number()
        guard count <= UInt64(self.rest.count) else { throw Malformed() }
        defer { self.rest = self.rest.dropFirst(Int(count)) }
        return Data(self.rest.prefix(Int(count)))
    }

    mutating func text() throws -> String { String(decoding: try self.data(), as: UTF8.self) }

    mutating func optional<Value>(_ read: (inout ByteReader) throws -> Value) throws -> Value? {
        try self.byte() == 0 ? nil : read(&self)
    }

    mutating func list<Value>(_ read: (inout ByteReader) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        for _ in 0..<(try self.count()) { values.append(try read(&self)) }
        return values
    }

    mutating func age(_ now: Int64) throws -> Int64 {
        let age = try self.number()
        return age > UInt64(Int64.max) ? 0 : max(0, now - Int64(age))
    }

    mutating func byId<Value>(_ read: (inout ByteReader) throws -> Value) throws -> [Int64: Value] {
        let count = try self.count()
        var values = Dictionary<Int64, Value>(minimumCapacity: count)
        var last: Int64 = 0
        for _ in 0..<count {
            last = last &+ Int64(bitPattern: try self.number())
            values[last] = try read(&self)
        }
        return values
    }

    /// Reads the number of elements of a list. Each element has at least one byte, so a larger
    /// number is malformed.
    private mutating func count() throws -> Int {
        let count = try self.number()
        guard count <= UInt64(self.rest.count) else { throw Malformed() }
        return Int(count)
    }
}
