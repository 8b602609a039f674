internal import Foundation

/// A request that has ended, for an app's logs and counters.
///
/// It contains no payload, credential, handle or id.
public struct ClientEvent: Sendable, Hashable {
    /// The method, such as `GET`.
    public let method: String
    /// The path with `{id}` in place of ids and topics.
    public let route: String
    /// The status of the answer; `nil` without an answer.
    public let status: Int?
    /// The time from the request to the end of its answer.
    public let duration: Duration
    /// `answered` if the server answered, even with a refusal; otherwise the kind of the
    /// interference, or `offline`, `cancelled` or `failed`.
    public let outcome: String

    init(_ request: APIRequest, status: Int?, _ duration: Duration, _ outcome: String) {
        self.method = request.method
        self.route = request.route
        self.status = status
        self.duration = duration
        self.outcome = outcome
    }

    init(_ request: APIRequest, _ error: any Error, _ duration: Duration) {
        if case .interference(let interference) = error as? PushClientError {
            let status = interference.status == 0 ? nil : interference.status
            self.init(request, status: status, duration, interference.kind.rawValue)
        } else {
            let outcome = error is CancellationError ? "cancelled" : error.isOfNetwork ? "offline" : "failed"
            self.init(request, status: nil, duration, outcome)
        }
    }
}

extension APIRequest {
    /// The words of the API's paths; everything else is an id or a topic.
    private static let words: Set<Substring> = [
        "api", "batch", "confirmation", "current", "devices", "enrolment", "key", "notifications", "password",
        "read", "register",
        "sessions", "stream", "taken", "test", "topics", "users",
    ]

    /// The path with `{id}` in place of ids and topics.
    var route: String {
        var (route, last): (String, Substring) = ("", "")
        for part in self.path.split(separator: "/") {
            route += Self.words.contains(part) && last != "topics" ? "/\(part)" : "/{id}"
            last = part
        }
        return route
    }
}
