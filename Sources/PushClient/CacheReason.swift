public import Foundation

/// Why a kept value was given in place of the server's.
///
/// Everything else is thrown, though a value may be kept: a refusal by the server, and a task that
/// was cancelled.
public enum CacheReason: Sendable, Hashable {
    /// The network failed. The code of the `URLError` tells how: `timedOut` if no answer came
    /// within the call's deadline.
    case network(URLError.Code)
    /// The answer was not the server's own.
    case interference(Interference)

    /// What to tell the user, such as ``PushClient/Advice/offline`` or
    /// ``PushClient/Advice/portal``.
    public var advice: PushClient.Advice {
        switch self {
        case .network(let code): PushClient.Advice(code)
        case .interference(let interference): PushClient.Advice(interference.kind)
        }
    }

    /// `nil` for an error that leaves nothing to show: it is thrown.
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
