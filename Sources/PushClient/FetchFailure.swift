public import Foundation
public import PushAPI

/// The reason why the client returned a cached value in place of the server's current value.
///
/// The client throws all other errors, even if it has a cached value: the server's final refusals,
/// and cancellation.
public enum FetchFailure: Sendable, Hashable {
    /// There was no answer. The code says why: `timedOut` if none came within the call's deadline.
    case offline(URLError.Code)
    /// The answer was not the server's own.
    case interference(Interference)
    /// The server refuses for now, and may say how long to wait.
    case busy(Problem, retryAfter: Duration?)

    /// The advice for the user, such as ``PushClient/Advice/offline`` or
    /// ``PushClient/Advice/captivePortal``.
    public var advice: PushClient.Advice {
        switch self {
        case .offline(let code): PushClient.Advice(code)
        case .interference(let interference): PushClient.Advice(interference)
        case .busy: .wait
        }
    }

    /// Returns `nil` for an error that must be thrown, because no cached value may replace it.
    init?(_ error: any Error) {
        switch NetworkFailure.clientError(error) as? PushClientError {
        case .offline(let code): self = .offline(code)
        case .interference(let interference): self = .interference(interference)
        case .busy(let problem, let time): self = .busy(problem, retryAfter: time)
        default: return nil
        }
    }
}
