@testable import PushServer

extension FuzzTarget {
    /// `Accept-Encoding`: the server sends gzip if and only if a separately computed table of all
    /// codings and weights permits it and prefers nothing else.
    static func coding(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        var table: [[UInt8]: Double] = [:]
        for member in Array(text.utf8).split(separator: 0x2C) {
            var parts = member.split(separator: 0x3B, omittingEmptySubsequences: false).map { Array(Self.trimmed($0)) }
            let name = parts.removeFirst()
            guard !name.isEmpty, parts.count <= 1 else { continue }
            let key = Array(String(decoding: name, as: UTF8.self).lowercased().utf8)
            guard let weight = parts.isEmpty ? 1 : Self.weight(parts[0]) else { continue }
            if table[key] == nil { table[key] = weight }
        }
        let names = ["gzip", "x-gzip", "*"].map { Array($0.utf8) }
        let gzip = names.compactMap { table[$0] }.first ?? 0
        let identity = table[Array("identity".utf8)] ?? 0
        let expected = gzip > 0 && gzip >= identity
        try require(AcceptedCodings(text).prefersGzip == expected, "\(text) means \(expected)")
        // Repetitions, and unknown codings after them, change nothing.
        try require(AcceptedCodings("\(text),\(text),unheard-of").prefersGzip == expected, "\(text) twice is the same")
    }

    private static func trimmed(_ part: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = part.firstIndex(where: { !isBlank($0) }), let last = part.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return part[first...last]
    }

    /// The weight by the grammar of RFC 9110 section 12.4.2.
    private static func weight(_ text: [UInt8]) -> Double? {
        let text = String(decoding: text, as: UTF8.self)
        guard text.unicodeScalars.allSatisfy(\.isASCII) else { return nil }
        guard text.wholeMatch(of: /[qQ]=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)/) != nil else { return nil }
        return Double(text.dropFirst(2).hasSuffix(".") ? "\(text.dropFirst(2))0" : "\(text.dropFirst(2))")
    }
}
