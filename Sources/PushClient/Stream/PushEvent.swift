public import PushAPI

/// An event of `PushClient.events(platform:silence:)`.
public enum PushEvent: Sendable {
    /// The stream is open: call `PushClient.sync()` for earlier notifications. From here on
    /// pushes arrive at once.
    case connected
    /// A push has arrived: the id of its notification, and the notification as it was fetched and
    /// cached.
    ///
    /// The notification is `nil` if it is gone already or could not be fetched, or if another
    /// device has read or dismissed a notification: call `PushClient.sync()`.
    case pushed(Int64, Fetched<NotificationItem>?)
    /// The stream has ended, because of the error or because the server has ended it. The client
    /// opens the next one after the delay.
    ///
    /// An answer that is not the server's own is an interference, as for any other call. If a
    /// proxy holds back the bytes, the error is `URLError.timedOut`.
    case disconnected((any Error)?, retryIn: Duration)
}
