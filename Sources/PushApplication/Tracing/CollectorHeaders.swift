import CurlHTTP
import Foundation

/// The header lines that a hosted collector of spans demands, such as an API key. Their form is
/// that of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` pairs with commas between them, whose values
/// may have percent escapes. In a file, line ends may separate the pairs, too.
enum CollectorHeaders {
    static let form =
        "must have pairs such as api-key=value, with commas between them; %2C is a comma, %25 a percent sign"
    /// The names of header lines that the exporter itself sets.
    private static let own: Set = [
        "connection", "content-encoding", "content-length", "content-type", "expect", "host", "transfer-encoding",
    ]

    /// The header lines; `nil` if the text has another form. No error quotes the text, since it
    /// contains secrets.
    static func read(_ text: String) -> [OutboundRequest.Header]? {
        var headers: [OutboundRequest.Header] = []
        for pair in text.split(whereSeparator: { $0 == "," || $0.isNewline }) {
            let pair = pair.trimmingCharacters(in: .whitespaces)
            if pair.isEmpty { continue }
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmingCharacters(in: .whitespaces)
            guard parts.count == 2, Self.isName(name), !Self.own.contains(name.lowercased()),
                let value = parts[1].trimmingCharacters(in: .whitespaces).removingPercentEncoding,
                value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), !value.isEmpty
            else { return nil }
            headers.append(.init(name, value))
        }
        return headers
    }

    private static func isName(_ name: String) -> Bool {
        let letters = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
        return letters && (1...100).contains(name.utf8.count)
    }
}
