package import Foundation

/// A request that takes effect once, however often it is sent.
package struct IdempotentRequest: Sendable, Hashable {
    /// How long the store keeps a request.
    package static let lifetime: TimeInterval = 86_400

    /// A keyed hash of the user, the method and path, and the key that came with the request.
    package let key: Data
    /// A keyed hash of everything that the request asks for.
    package let request: Data

    package init(key: Data, request: Data) {
        (self.key, self.request) = (key, request)
    }
}
