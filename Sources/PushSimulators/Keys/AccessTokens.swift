internal import Foundation
internal import Synchronization

/// The bearer tokens that a token endpoint has handed out.
final class AccessTokens: Sendable {
    // A lock: tests revoke from anywhere, and each use is short.
    private let ends = Mutex<[String: Date]>([:])
    /// A sender keeps a token for long; one that asks for so many loses the older ones.
    private static let limit = 10_000

    /// A new token that is good until `end`.
    func issue(until end: Date) -> String {
        let token = "simulated-" + RandomText.make(64)
        self.ends.withLock { ends in
            if ends.count >= Self.limit { ends.removeAll() }
            ends[token] = end
        }
        return token
    }

    /// Whether the value of an `Authorization` header is one of the tokens, and still good.
    func authorize(_ authorization: String?, now: Date) -> Bool {
        guard
            let parts = authorization?.split(separator: " ", maxSplits: 1),
            parts.count == 2,
            parts[0].lowercased() == "bearer"
        else { return false }
        return self.ends.withLock { ends in ends[String(parts[1])].map { now < $0 } ?? false }
    }

    func revokeAll() {
        self.ends.withLock { $0.removeAll() }
    }
}

/// The fields of an `application/x-www-form-urlencoded` body.
struct FormFields {
    private var fields: [String: String] = [:]

    /// `nil` if the request is of another type, or a field is given twice or badly escaped.
    init?(_ request: SimulatedRequest) {
        let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
        guard type == "application/x-www-form-urlencoded" else { return nil }
        for field in String(decoding: request.body, as: UTF8.self).split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard
                parts.count == 2,
                let name = Self.decode(parts[0]),
                let value = Self.decode(parts[1]),
                self.fields.updateValue(value, forKey: name) == nil
            else { return nil }
        }
    }

    subscript(name: String) -> String? { self.fields[name] }

    private static func decode(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}
