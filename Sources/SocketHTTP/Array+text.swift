extension [UInt8] {
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.append(contentsOf: $0) }
    }

    /// Appends a number's digits without creating a string.
    package mutating func append(decimal number: some BinaryInteger) {
        if number < 0 { self.append(UInt8(ascii: "-")) }
        var rest = UInt64(number.magnitude)
        var length = 1
        var bound: UInt64 = 10
        // At 20 digits, the maximum of 64 bits, the bound would overflow; it is not compared then.
        while length < 20, rest >= bound {
            length += 1
            bound &*= 10
        }
        let start = self.count
        self.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: length))
        var bytes = self.mutableSpan
        for index in (start..<start + length).reversed() where rest > 0 {
            bytes[index] += UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}
