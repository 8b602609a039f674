/// One request under way and the task that waits for its end.
///
/// `@unchecked Sendable`: made by the task, which sets the continuation before it hands the call to the loop; from then
/// on, only the loop's thread touches it, and `cancel` comes there as a call of its own.
final class Call: @unchecked Sendable {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    let request: OutboundRequest
    var continuation: CheckedContinuation<Outcome, Never>?
    /// The handle that works for it, if one does.
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
