internal import Bytes

/// The request's preference for gzip, from its field `Accept-Encoding` (RFC 9110 section 12.5.3).
struct AcceptedCodings: Sendable, Hashable {
    /// Whether the client accepts gzip, and gives it at least the weight of `identity`, which
    /// means no encoding.
    let prefersGzip: Bool

    /// Reads the field, which is `nil` if the request has none. Ignores malformed members of the
    /// list. If two members name the same coding, the first one counts.
    init(_ field: String?) {
        var weights: [String: Int] = [:]
        for member in (field ?? "").utf8.split(separator: UInt8(ascii: ",")) {
            guard let (coding, weight) = Self.member(member), weights[coding] == nil else { continue }
            weights[coding] = weight
        }
        let gzip = weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0
        // A client that does not list `identity` accepts this coding, but has not asked for it, so
        // the coding's weight is 0 here.
        self.prefersGzip = gzip > 0 && gzip >= weights["identity"] ?? 0
    }

    /// The coding in lower case, and its weight in thousandths.
    private static func member(_ text: Substring.UTF8View) -> (String, Int)? {
        let parts = text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(self.trimmed)
        guard let coding = parts.first, !coding.isEmpty, parts.count <= 2 else { return nil }
        let name = String(decoding: coding, as: UTF8.self).lowercased()
        guard parts.count == 2 else { return (name, 1000) }
        return self.weight(parts[1]).map { (name, $0) }
    }

    /// Reads a weight: `q=` and a number from 0 to 1 with at most three decimals.
    private static func weight(_ text: Substring.UTF8View) -> Int? {
        guard
            text.count >= 3, text.first?.lowercased == UInt8(ascii: "q"),
            text.dropFirst().first == UInt8(ascii: "=")
        else { return nil }
        let number = text.dropFirst(2)
        guard number.count <= 5, let first = number.first, first == 0x30 || first == 0x31 else { return nil }
        var weight = first == 0x31 ? 1000 : 0
        let rest = number.dropFirst()
        guard rest.first.map({ $0 == UInt8(ascii: ".") }) ?? true else { return nil }
        var place = 100
        for digit in rest.dropFirst() {
            guard digit.isDigit else { return nil }
            weight += Int(digit - 0x30) * place
            place /= 10
        }
        return weight <= 1000 ? weight : nil
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text.drop(while: \.isBlank)
        while text.last?.isBlank == true { text = text.dropLast() }
        return text
    }
}
