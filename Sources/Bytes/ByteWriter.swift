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
        // The storage is contiguous except for strings of Objective-C. A variable for `withUTF8`
        // would count a reference.
        if text.utf8.withContiguousStorageIfAvailable({ self.write(UnsafeRawBufferPointer($0)) }) == nil {
            self.write(Array(text.utf8))
        }
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
        while above >= 10_000 { (above, count) = (above / 10_000, count + 4) }
        count += above >= 1000 ? 3 : above >= 100 ? 2 : above >= 10 ? 1 : 0
        var end = self.take(count) + count
        while rest >= 10 {
            end -= 2
            end.put(pair: rest % 100)
            rest /= 100
        }
        if rest > 0 { (end - 1).initialize(to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest)) }
    }

    /// Returns a pointer to the next `count` bytes, which count as written.
    @inline(__always) @inlinable mutating func take(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(count >= 0 && count <= self.end - self.next, "more is written than was reserved")
        defer { self.next += count }
        return self.next
    }
}

extension UnsafeMutablePointer<UInt8> {
    /// Writes the two digits of a number below 100.
    @inline(__always)
    package func put(pair number: UInt) {
        let digits: StaticString = """
            0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
            5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
            """
        let pair = digits.utf8Start + Int(truncatingIfNeeded: number % 100) &* 2
        UnsafeMutableRawPointer(self).copyMemory(from: pair, byteCount: 2)
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
