extension [UInt8] {
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.append(contentsOf: $0) }
    }

    /// Appends a number's digits without creating a string.
    package mutating func append(decimal number: Int) {
        if number < 0 { self.append(UInt8(ascii: "-")) }
        var rest = number.magnitude
        // A number of 64 bits has at most as many digits.
        let most = 20
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: most) { digits in
            var start = most
            repeat {
                start -= 1
                digits.initializeElement(at: start, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0
            self.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }
}
