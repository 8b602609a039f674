public import PushAPI

/// Why a call failed, besides the network's own `URLError` and `CancellationError`.
///
/// ``PushClient/Advice`` says what to tell the user.
public enum PushClientError: Error, Sendable, Hashable {
    /// The answer is not the server's own to this request: it was made up, changed or kept on the
    /// way.
    case interference(Interference)
    /// The server's own refusal.
    case problem(Problem)
    /// The server refuses for now (429 or 503), and may say how long to wait.
    case busy(Problem, retryAfter: Duration?)
    /// The name or the password is wrong, or the token is no longer valid; the problem's code says
    /// which.
    case unauthorized(Problem)
    /// The account was signed out on this device since this client was made. Nothing was sent, or
    /// nothing of it is kept.
    case signedOut
    /// Too much waits in the ``Outbox``, as after long without a network. The task was not taken.
    case outboxFull
    /// Certificate keys are pinned on a system that does not show certificates. Nothing was sent.
    case pinningUnavailable
    /// The server's URL is not an HTTP URL with a host.
    case invalidServer
    /// The server's URL is `http`, which shows credentials to everybody on the way. The client
    /// takes it for this machine alone (`localhost`, 127.0.0.0/8, `::1`), and never with pinned
    /// keys. It has sent nothing.
    case insecureServer
    /// The options pin an empty list of signature keys. Write ``PushClient/Signatures/unsigned``
    /// to go without signatures. The client has sent nothing.
    case noSignatureKeys
}
