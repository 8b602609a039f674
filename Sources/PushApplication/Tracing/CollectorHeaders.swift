import Bytes
import CurlHTTP
import Foundation

/// The header lines that a hosted collector of spans demands, such as an API key. Their form is
/// that of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` pairs with commas between them, whose values
/// may have percent escapes. In a file, line ends may separate the pairs, too.
enum CollectorHeaders {
    /// A fault of a `name=value` pair. No text quotes the pair, since it may contain a secret.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let longestName = 100
    /// The names of the header lines that only the exporter may set.
    private static let own: Set = [
        "connection", "content-encoding", "content-length", "content-type", "expect", "host", "transfer-encoding",
    ]

    /// Throws the first fault, with the number of the faulty pair.
    static func read(_ text: String) throws(Fault) -> [OutboundRequest.Header] {
        var headers: [OutboundRequest.Header] = []
        for pair in text.split(whereSeparator: { $0 == "," || $0.isNewline }) {
            let pair = pair.trimmingCharacters(in: .whitespaces)
            if pair.isEmpty { continue }
            do throws(Fault) {
                headers.append(try self.header(pair))
            } catch {
                throw Fault(description: "header \(headers.count + 1) \(error)")
            }
        }
        return headers
    }

    private static func header(_ pair: String) throws(Fault) -> OutboundRequest.Header {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 2 else { throw Fault(description: "has no =; write pairs such as api-key=value") }
        let (name, text) = (parts[0], parts[1])
        guard (1...self.longestName).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0.isLetterOrDigit || "-_.".utf8.contains($0) })
        else {
            let form = "1 to \(self.longestName) letters, digits, -, _ and ."
            throw Fault(description: "needs a name of \(form) before the =")
        }
        guard !self.own.contains(name.lowercased()) else {
            throw Fault(description: "is \(name.lowercased()), which the server sets itself; remove it")
        }
        guard let value = text.removingPercentEncoding else {
            throw Fault(description: "has a % that begins no escape; write %25 for a percent sign and %2C for a comma")
        }
        guard !value.isEmpty else { throw Fault(description: "has no value after the =") }
        guard value.utf8.allSatisfy(\.isPrintable) else {
            throw Fault(description: "has a value with characters other than printable ASCII")
        }
        return .init(name, value)
    }
}
