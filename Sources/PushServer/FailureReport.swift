internal import Logging
internal import PushAPI
internal import PushStore

/// Turns what went wrong behind a handler into a problem: the client gets the code, and the log the reason.
struct FailureReport: Sendable {
    let logger: Logger

    func problem(of error: any Error, in request: RequestID) -> Problem {
        switch error {
        case let problem as Problem:
            return problem
        case StoreError.busy:
            self.logger.warning("write refused; the write queue is full", metadata: ["request": "\(request)"])
            return Problem(.busy, "the write queue is full")
        case StoreError.full:
            // The store has logged this once.
            return Problem(.storageFull)
        case StoreError.unavailable, StoreError.unknownOutcome:
            self.logger.error("database unavailable", metadata: ["request": "\(request)", "error": "\(error)"])
            return Problem(.busy, "the database is unavailable; repeat the request")
        default:
            self.logger.error("request failed", metadata: ["request": "\(request)", "error": "\(error)"])
            return Problem(.internalError)
        }
    }
}
