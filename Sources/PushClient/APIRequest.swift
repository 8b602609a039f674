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
    /// The same for both tries of a call that must not happen twice.
    var idempotencyKey: UUID?
    /// Whether it may be sent again when the connection was lost, and nobody knows what became of it.
    let isRepeatable: Bool

    init(_ method: String, _ path: String, isRepeatable: Bool = true) {
        self.method = method
        self.path = path
        self.isRepeatable = isRepeatable
    }
}
