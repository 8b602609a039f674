package import Foundation

/// A request that has an effect once, however often it comes.
package struct IdempotentRequest: Sendable, Hashable {
    /// For how long a request is remembered.
    package static let lifetime: TimeInterval = 86_400

    /// A keyed hash of whose it is, what it calls, and the key that came with it.
    package let key: Data
    /// A keyed hash of all that it asks for.
    package let request: Data

    package init(key: Data, request: Data) {
        self.key = key
        self.request = request
    }
}
