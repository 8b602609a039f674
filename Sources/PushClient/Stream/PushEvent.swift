public import PushAPI

/// What `PushClient.events(platform:silence:)` tells.
public enum PushEvent: Sendable {
    /// The stream is open: call `PushClient.refresh()` for what came before. From here on pushes
    /// come at once.
    case connected
    /// A push has come: the id of its notification, and the notification as it was fetched and
    /// kept.
    ///
    /// Without it, if it is gone already, or could not be fetched; the next refresh has it.
    case pushed(Int64, Fetched<NotificationItem>?)
    /// There is no stream: of the error, or because the server has ended it. The next one is
    /// opened after the time.
    ///
    /// An answer that is not the server's own is an interference as of any other call. A proxy
    /// that keeps the bytes back is `URLError.timedOut`.
    case disconnected((any Error)?, retryIn: Duration)
}
