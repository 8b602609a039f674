internal import Bytes

extension [UInt8] {
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.append(contentsOf: $0) }
    }

    /// Appends a number's digits without creating a string.
    package mutating func append(decimal number: Int) {
        // A number of 64 bits has at most 20 characters, including its sign.
        self.append(upTo: 20) { $0.write(decimal: number) }
    }
}
