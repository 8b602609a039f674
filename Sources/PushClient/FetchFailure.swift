public import Foundation

/// The reason why the client returned a cached value in place of the server's current value.
///
/// The client throws all other errors, even if it has a cached value: the server's refusals, and
/// cancellation.
public enum FetchFailure: Sendable, Hashable {
    /// The network failed. The code of the `URLError` says how: `timedOut` if no answer came
    /// within the call's deadline.
    case network(URLError.Code)
    /// The answer was not the server's own.
    case interference(Interference)

    /// The advice for the user, such as ``PushClient/Advice/offline`` or
    /// ``PushClient/Advice/captivePortal``.
    public var advice: PushClient.Advice {
        switch self {
        case .network(let code): PushClient.Advice(code)
        case .interference(let interference): PushClient.Advice(interference)
        }
    }

    /// Returns `nil` for an error that must be thrown, because no cached value may replace it.
    init?(_ error: any Error) {
        if let error = NetworkFailure.urlError(error) as? URLError {
            if error.code == .cancelled { return nil }
            self = .network(error.code)
        } else if case .interference(let interference) = error as? PushClientError {
            self = .interference(interference)
        } else {
            return nil
        }
    }
}
