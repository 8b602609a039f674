internal import Foundation
internal import Synchronization

/// The bearer tokens that a token endpoint has issued.
final class AccessTokens: Sendable {
    private struct State {
        var ends: [String: Date] = [:]
        var last: (issued: Date, end: Date)?
        var needlessCount = 0
    }

    // A lock protects `state`: tests may revoke tokens from any thread. The lock is held only
    // briefly.
    private let state = Mutex(State())
    /// The number of stored tokens at which all are deleted. Such a deletion is rare, because a
    /// sender uses a token for a long time.
    private static let limit = 10_000

    /// The number of tokens that were issued too early: the previous token was not revoked, and
    /// had more than half of its lifetime left.
    var needlessCount: Int { self.state.withLock { $0.needlessCount } }

    /// Issues a token that is valid until `end`.
    func issue(now: Date, until end: Date) -> String {
        let token = "simulated-" + RandomText.make(64)
        self.state.withLock { state in
            if state.ends.count >= Self.limit { state.ends.removeAll() }
            state.ends[token] = end
            if let last = state.last, last.end.timeIntervalSince(now) > last.end.timeIntervalSince(last.issued) / 2 {
                state.needlessCount += 1
            }
            state.last = (now, end)
        }
        return token
    }

    /// Whether the value of an `Authorization` header is one of the tokens, and still valid.
    func authorize(_ authorization: String?, now: Date) -> Bool {
        guard
            let parts = authorization?.split(separator: " ", maxSplits: 1),
            parts.count == 2,
            parts[0].lowercased() == "bearer"
        else { return false }
        return self.state.withLock { $0.ends[String(parts[1])].map { now < $0 } ?? false }
    }

    func revokeAll() {
        self.state.withLock { state in
            state.ends.removeAll()
            state.last = nil
        }
    }
}

/// The fields of an `application/x-www-form-urlencoded` body.
struct FormFields {
    private var fields: [String: String] = [:]

    /// Reads the body. Returns `nil` if it has another type, or if a field is repeated or not
    /// correctly percent-encoded.
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
