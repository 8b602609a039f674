import PushAPI

extension FuzzTarget {
    /// `MyToken`: accepted if and only if it is a decimal number in the range, and echoed as
    /// every client computes it.
    static func mytoken(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let token = Result { () throws(MyToken.Invalid) in try MyToken(text: text) }
        let expected = Self.number(bytes)
        try require(token.map { Int($0.value) } == expected, "\(token), of \(text), is \(expected)")
        guard case (.success(let token), .success(let number)) = (token, expected) else { return }
        try require(token.echo == String(number * 17 + 3), "\(token.echo) is the echo of \(number)")
        try require(try MyToken(text: token.description) == token, "\(token) is read as it is written")
    }

    private static func number(_ bytes: [UInt8]) -> Result<Int, MyToken.Invalid> {
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x30...0x39).contains($0) }) else { return .failure(.notANumber) }
        // The number stops growing far above the range.
        let number = bytes.reduce(0) { min($0 * 10 + Int($1) - 0x30, 1 << 40) }
        return number <= 126_322_567 ? .success(number) : .failure(.outOfRange)
    }
}
