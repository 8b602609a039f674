package import Foundation
package import PushCore

/// The push of a notification to one device, named as an operator sees it.
package struct SinglePush: Sendable, Hashable {
    package let notification: NotificationID
    package let device: RegistrationID
    /// The user whose notification it must be; `nil`: anybody's.
    package let sender: Int64?

    package init(notification: NotificationID, device: RegistrationID, sender: Int64?) {
        self.notification = notification
        self.device = device
        self.sender = sender
    }
}

/// Where a push stands that an operator wants changed.
package enum PushStanding: Sendable, Hashable {
    /// It is due then; `nil`: when its device opens an event stream.
    case waiting(until: Date?)
    /// A process has it under way, and does not try it again if it is withdrawn.
    case sending(isWithdrawn: Bool)
    case ended(DeliveryStage)
}

/// What an operator has done with a single push.
package enum PushChange: Sendable, Hashable {
    /// It is not sent; if it is being sent at this moment, it is not tried again.
    case cancel
    /// It is due at once, also if it was to be tried again later.
    case hasten

    /// What the change comes to for a push that stands so; `done`: there is something to be done.
    package func outcome(for standing: PushStanding, now: Date) -> PushChangeOutcome {
        switch (self, standing) {
        case (.cancel, .waiting), (.cancel, .sending(isWithdrawn: false)): .done
        case (.cancel, .sending(isWithdrawn: true)), (.cancel, .ended(.cancelled)): .unchanged
        case (.hasten, .waiting(let due?)): due > now ? .done : .unchanged
        case (.hasten, .waiting(nil)): .parked
        case (.hasten, .sending): .unchanged
        case (_, .ended): .ended
        }
    }
}

/// What became of a `PushChange`.
package enum PushChangeOutcome: Sendable, Hashable {
    case done
    /// It stands as was asked for, perhaps by the same request before: nothing was done.
    case unchanged
    /// There is no such push of such a notification.
    case missing
    /// It has ended, and nothing happens to it any more.
    case ended
    /// It waits until its device opens an event stream, and cannot be hastened.
    case parked
}
