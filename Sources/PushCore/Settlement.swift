package import Foundation

/// What is written down of a try to send a push.
package enum Settlement: Sendable, Hashable {
    case accepted(providerID: String?)
    case expired
    case failed(reason: String)
    case retried(at: Date, reason: String)
    /// Not tried: it is as due as before, and the try does not count.
    case released
}
