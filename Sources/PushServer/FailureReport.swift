internal import Logging
internal import PushAPI
internal import PushStore

/// Turns errors from behind a handler into problems: the client gets the code, and the log the
/// reason.
struct FailureReport: Sendable {
    let logger: Logger

    func problem(of error: any Error, in request: RequestID) -> Problem {
        switch error {
        case let problem as Problem:
            return problem
        case StoreError.busy:
            self.logger.warning("write refused; the write queue is full", metadata: request.fields)
            return Problem(.busy, "the write queue is full")
        case StoreError.full:
            // The store has logged this once.
            return Problem(.storageFull)
        case StoreError.unavailable, StoreError.unknownOutcome:
            self.logger.error("database unavailable", metadata: self.fields(request, error))
            return Problem(.busy, "the database is unavailable; repeat the request")
        default:
            self.logger.error("request failed", metadata: self.fields(request, error))
            return Problem(.internalError)
        }
    }

    private func fields(_ request: RequestID, _ error: any Error) -> Logger.Metadata {
        request.fields.merging(["error": "\(error)"]) { $1 }
    }
}
