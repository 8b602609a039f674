/// One request in progress, and the task that waits for it.
///
/// `@unchecked Sendable`: the task creates the call and sets the continuation before it passes the
/// call to the loop; from then on, only the loop's thread uses it, and `cancel` runs on the loop
/// as well.
final class Call: @unchecked Sendable {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    let request: OutboundRequest
    var continuation: CheckedContinuation<Outcome, Never>?
    /// The handle that performs the request; `nil` until the request has begun.
    var transfer: Transfer?
    var isCancelled = false

    init(_ request: OutboundRequest) {
        self.request = request
    }

    func finish(_ outcome: Outcome) {
        self.transfer = nil
        self.continuation.take()?.resume(returning: outcome)
    }
}
