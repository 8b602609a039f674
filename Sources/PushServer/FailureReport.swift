internal import Logging
internal import PushAPI
internal import PushStore

/// Turns errors that a handler gets from the store or another part into problems: the client gets
/// the problem's code, and the log gets the reason.
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
            // The store itself has logged once that its storage is full, so that this code need
            // not log it for each request.
            return Problem(.storageFull)
        case StoreError.damagedFile:
            // The store itself has logged this once.
            return Problem(.databaseUnusable, "the database's file is damaged; an operator must restore a backup")
        case StoreError.unusable:
            // The store itself has logged this once.
            return Problem(.databaseUnusable, "an operator must act; the log has the reason")
        case StoreError.unavailable, StoreError.unknownOutcome, StoreError.broken:
            // The store itself logs this, at most once a minute.
            self.logger.debug("database unavailable", metadata: self.fields(request, error))
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
