public import PushAPI

/// An event of `PushClient.events(platform:silence:)`.
public enum PushEvent: Sendable {
    /// The stream is open: call `PushClient.sync()` for earlier notifications. From here on pushes
    /// arrive without delay.
    case connected
    /// A push has arrived. The values are the id of its notification, and the notification that
    /// the client has fetched and cached.
    ///
    /// The second value is `nil` if the notification is gone already or could not be fetched. It
    /// is also `nil` if the push only says that another device has read or dismissed a
    /// notification. Then call `PushClient.sync()`.
    case pushed(Int64, Fetched<NotificationItem>?)
    /// The stream has ended, because of the error or, if the error is `nil`, because the server
    /// has ended it. The client opens the next stream after the delay.
    ///
    /// An answer that is not the server's own is an interference, as for any other call. If a
    /// proxy holds back the bytes, the error is ``PushClientError/offline(_:)`` with `timedOut`.
    case disconnected((any Error)?, retryIn: Duration)
}
