@testable import PushCore

extension FuzzTarget {
    /// `traceparent`: accepted if and only if its parts, split at the hyphens, are what the
    /// recommendation permits. The trace is then the second part.
    static func trace(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = bytes.split(separator: UInt8(ascii: "-"), maxSplits: 4, omittingEmptySubsequences: false)
        let expected = Self.isValid(parts.map(Array.init)) ? String(decoding: parts[1], as: UTF8.self) : nil
        let context = TraceContext(traceparent: text)
        try require(context?.trace.description == expected, "\(text) names \(expected ?? "no trace")")
        try require(context.map { "\($0.span)" == String(decoding: parts[2], as: UTF8.self) } ?? true, "\(text)")
    }

    private static func isValid(_ parts: [[UInt8]]) -> Bool {
        guard parts.count >= 4, parts.prefix(4).map(\.count) == [2, 32, 16, 2] else { return false }
        let digits = Set("0123456789abcdef".utf8)
        guard parts.prefix(4).allSatisfy({ $0.allSatisfy(digits.contains) }) else { return false }
        let zero = UInt8(ascii: "0")
        guard parts[1].contains(where: { $0 != zero }), parts[2].contains(where: { $0 != zero }) else { return false }
        // The version: a future one has at least the same four parts, and `ff` is forbidden.
        return parts[0] == Array("00".utf8) ? parts.count == 4 : parts[0] != Array("ff".utf8)
    }
}
