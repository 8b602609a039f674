internal import Foundation
internal import PushAPI

/// One call of the API.
struct APIRequest: Sendable {
    let method: String
    /// Absolute, without a query.
    let path: String
    var query: [URLQueryItem] = []
    var body: JSONValue?
    /// The validator of what is kept.
    var tag: String?
    /// Sent with both tries of a call that must not take effect twice.
    var idempotencyKey: UUID?
    /// Whether it may be sent again after the connection was lost, when the server may or may not have acted on it.
    let isRepeatable: Bool

    init(_ method: String, _ path: String, isRepeatable: Bool = true) {
        self.method = method
        self.path = path
        self.isRepeatable = isRepeatable
    }
}
