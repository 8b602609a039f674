package import Foundation

/// The stored outcome of an attempt to send a push.
package enum Settlement: Sendable, Hashable {
    case accepted(providerID: String?)
    case expired
    case failed(reason: String)
    case retried(at: Date, reason: String)
    /// The device is not connected: the push waits until the device connects, and the attempt is
    /// not counted.
    case away(reason: String)
    /// The device now belongs to another lane (queue of pushes). The push is due in that lane at
    /// once.
    case moved(reason: String)
    /// The push was not sent. It is due at once, and the attempt is not counted.
    case released

    package var isMove: Bool { if case .moved = self { true } else { false } }
}
