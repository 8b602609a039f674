package import PushCore
internal import Synchronization

/// A sender that another can take the place of while pushes go on.
///
/// What is under way ends with the sender it began with, whose connections are closed with its last push.
package final class ReplaceableSender: PushSender {
    // A lock: each use is short.
    private let current: Mutex<any PushSender>

    package init(_ sender: any PushSender) {
        self.current = Mutex(sender)
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        let sender = self.current.withLock { $0 }
        return try await sender.send(push)
    }

    /// Gives all pushes from now on to this one.
    package func replace(with sender: any PushSender) {
        self.current.withLock { $0 = sender }
    }
}
