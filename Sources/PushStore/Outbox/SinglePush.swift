package import Foundation
package import PushCore

/// The push of a notification to one device, as operators identify it.
package struct SinglePush: Sendable, Hashable {
    package let notification: NotificationID
    package let device: RegistrationID
    /// The user who must have sent the notification; `nil`: any user.
    package let sender: Int64?

    package init(notification: NotificationID, device: RegistrationID, sender: Int64?) {
        (self.notification, self.device, self.sender) = (notification, device, sender)
    }
}

/// The state of a push that an operator wants to change.
package enum PushStanding: Sendable, Hashable {
    /// The push is due at `until`; `nil`: when its device opens an event stream.
    case waiting(until: Date?)
    /// A server is sending the push; if it is cancelled, the server does not retry it.
    case sending(isCancelled: Bool)
    case ended(DeliveryStage)
}

/// An operator's change of a single push.
package enum PushChange: Sendable, Hashable {
    /// The push is not sent; if it is being sent at this moment, it is not retried.
    case cancel
    /// The push is due at once, even if it was waiting for a retry.
    case hasten

    /// The outcome of the change for a push in this state; `done`: the store must change
    /// something.
    package func outcome(for standing: PushStanding, now: Date) -> PushChangeOutcome {
        switch (self, standing) {
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
    /// The push already had the requested state, perhaps by the same request before: nothing was
    /// done.
    case unchanged
    /// The notification has no such push.
    case missing
    /// The push has ended, and cannot change any more.
    case ended
    /// The push waits until its device opens an event stream, and cannot be hastened.
    case parked
}
