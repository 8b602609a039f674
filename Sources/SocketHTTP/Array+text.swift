extension [UInt8] {
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.append(contentsOf: $0) }
    }

    /// Appends a number's digits without a string in between.
    package mutating func append(decimal number: some BinaryInteger) {
        if number < 0 { self.append(UInt8(ascii: "-")) }
        self.append(digitsOf: UInt64(number.magnitude))
    }

    private mutating func append(digitsOf number: UInt64) {
        if number >= 10 { self.append(digitsOf: number / 10) }
        self.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
