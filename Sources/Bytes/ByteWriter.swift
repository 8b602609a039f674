/// Writes bytes one after the other into memory that was reserved for them.
///
/// ```swift
/// bytes.append(upTo: 24) { line in
///     line.write("Age: ")
///     line.write(decimal: 17)
///     line.write("\r\n")
/// }
/// ``` An append to an array costs a hundred instructions, whatever its length; a write costs
/// about ten. Writing more than was reserved ends the program.
@usableFromInline package struct ByteWriter: ~Copyable {
    @usableFromInline var next: UnsafeMutablePointer<UInt8>
    @usableFromInline let end: UnsafeMutablePointer<UInt8>

    /// `memory` need not be initialised, and must outlive the writer.
    @inlinable init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        // An empty buffer may have no address; then nothing is ever written.
        self.next = memory.baseAddress ?? UnsafeMutablePointer(bitPattern: 1).unsafelyUnwrapped
        self.end = self.next + memory.count
    }

    @inline(__always) @inlinable package mutating func write(_ text: StaticString) {
        self.write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always) @inlinable package mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        UnsafeMutableRawPointer(self.take(bytes.count)).copyMemory(from: start, byteCount: bytes.count)
    }

    @inlinable package mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { self.write($0) }
    }

    @inlinable package mutating func write(_ byte: UInt8) {
        self.take(1).initialize(to: byte)
    }

    /// Writes a string's UTF-8.
    ///
    /// Without the label, `write("…")` would call this function, and not that for a
    /// `StaticString`.
    package mutating func write(string text: String) {
        var text = text
        text.withUTF8 { self.write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes `count` bytes, all of which `fill` must initialise.
    @inlinable package mutating func write<Failure>(
        count: Int,
        _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try fill(UnsafeMutableRawBufferPointer(start: self.take(count), count: count))
    }

    /// Writes a number's digits, and a sign if it is negative.
    package mutating func write(decimal number: Int) {
        if number < 0 { self.write(UInt8(ascii: "-")) }
        var rest = number.magnitude
        guard rest >= 10 else { return self.write(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest)) }
        var count = 1
        var above = rest
        while above >= 100 { (above, count) = (above / 100, count + 2) }
        if above >= 10 { count += 1 }
        var end = self.take(count) + count
        while rest > 0 {
            end -= 1
            end.initialize(to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
    }

    /// Returns a pointer to the next `count` bytes, which count as written.
    @inline(__always) @inlinable mutating func take(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(count >= 0 && count <= self.end - self.next, "more is written than was reserved")
        defer { self.next += count }
        return self.next
    }
}

extension [UInt8] {
    /// Appends the bytes that `write` writes; it may write at most `most` bytes. If `write`
    /// throws, appends nothing.
    @inlinable package mutating func append<Failure>(
        upTo most: Int,
        _ write: (inout ByteWriter) throws(Failure) -> Void
    ) throws(Failure) {
        try self.append(addingCapacity: most) { (output) throws(Failure) in
            try output.withUnsafeMutableBufferPointer { (memory, count) throws(Failure) in
                let rest = UnsafeMutableBufferPointer(rebasing: memory[count...])
                var writer = ByteWriter(rest)
                try write(&writer)
                count = memory.count - (writer.end - writer.next)
            }
        }
    }
}
