package import Foundation

/// A request with an idempotency key: it takes effect only once, however often it is sent.
package struct IdempotentRequest: Sendable, Hashable {
    /// How many seconds the store keeps the idempotency key.
    package static let lifetime: TimeInterval = 86_400

    /// A keyed hash of the user, the method, the path, and the idempotency key in the request.
    package let key: Data
    /// A keyed hash of the whole content of the request.
    package let request: Data

    package init(key: Data, request: Data) {
        (self.key, self.request) = (key, request)
    }
}
