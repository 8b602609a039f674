import Bytes
import PushAPI

/// The part of a collector's answer with the number of spans that the collector has rejected, and
/// a message (https://opentelemetry.io/docs/specs/otlp/#partial-success-1).
struct PartialSuccess: Sendable, Hashable {
    private static let longestMessage = 200

    let rejected: Int
    /// Printable ASCII.
    let message: String

    /// Reads this part from an answer's body; `nil` if the collector has accepted all of the
    /// `count` exported spans and has sent no message. An answer that is not JSON has no such
    /// part.
    init?(_ body: [UInt8], of count: Int) {
        guard let part = try? JSONValue(reading: body)["partialSuccess"] else { return nil }
        // In JSON, OTLP writes 64-bit numbers as texts, but some collectors send numbers.
        let number = part["rejectedSpans"]
        let rejected = number?.integer ?? number?.text.flatMap { Int($0) } ?? 0
        self.rejected = min(max(0, rejected), count)
        let message = (part["errorMessage"]?.text ?? "").utf8.prefix(Self.longestMessage)
        self.message = String(decoding: message.map { $0.isPrintable ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
        if self.rejected == 0, self.message.isEmpty { return nil }
    }
}
