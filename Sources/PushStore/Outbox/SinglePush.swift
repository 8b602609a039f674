package import Foundation
package import PushCore

/// The push of one notification to one device, as operators identify it.
package struct SinglePush: Sendable, Hashable {
    package let notification: NotificationID
    package let device: RegistrationID
    /// The user who must have sent the notification; `nil`: any user may have sent it.
    package let sender: Int64?

    package init(notification: NotificationID, device: RegistrationID, sender: Int64?) {
        (self.notification, self.device, self.sender) = (notification, device, sender)
    }
}

/// The state of a push that an operator wants to change.
package enum PushStanding: Sendable, Hashable {
    /// The push is due at `until`; if `until` is `nil`, it waits until its device opens an event
    /// stream.
    case waiting(until: Date?)
    /// A server is sending the push. If `isCancelled`, the server will not retry it.
    case sending(isCancelled: Bool)
    case ended(DeliveryStage)
}

/// A change that an operator makes to a single push.
package enum PushChange: Sendable, Hashable {
    /// Cancels the push; if it is being sent at this moment, it is not retried.
    case cancel
    /// Makes the push due at once, even if it waits for a retry.
    case hasten

    /// The outcome of this change for a push in this state; `nil`: there is no such push. If it is
    /// `done`, the store must change the push.
    package func outcome(for standing: PushStanding?, now: Date) -> PushChangeOutcome {
        guard let standing else { return .missing }
        return switch (self, standing) {
        case (.cancel, .waiting), (.cancel, .sending(isCancelled: false)): .done
        case (.cancel, .sending(isCancelled: true)), (.cancel, .ended(.cancelled)): .unchanged
        case (.hasten, .waiting(let due?)): due > now ? .done : .unchanged
        case (.hasten, .waiting(nil)): .parked
        case (.hasten, .sending): .unchanged
        case (_, .ended): .ended
        }
    }
}

/// The outcome of a `PushChange`.
package enum PushChangeOutcome: Sendable, Hashable {
    case done
    /// The push already had the requested state, so nothing was done. An earlier, identical
    /// request may have caused that state.
    case unchanged
    /// The notification has no push to this device.
    case missing
    /// The push has already ended, so it cannot be changed.
    case ended
    /// The push waits until its device opens an event stream, so it cannot be hastened.
    case parked
}
