package import PushCore
internal import Synchronization

/// A sender that can be replaced while it sends pushes.
///
/// A push in progress ends with the sender that began it. The connections of a replaced sender
/// close after its last push.
package final class ReplaceableSender: PushSender {
    // The current sender, behind a lock rather than in an actor, because each use is short.
    private let current: Mutex<any PushSender>

    package init(_ sender: any PushSender) {
        self.current = Mutex(sender)
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        let sender = self.current.withLock { $0 }
        return try await sender.send(push)
    }

    /// Sends all later pushes with `sender`.
    package func replace(with sender: any PushSender) {
        self.current.withLock { $0 = sender }
    }
}
