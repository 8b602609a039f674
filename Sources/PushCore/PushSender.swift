/// Sends pushes to a provider.
///
/// `send` has a deadline of its own and does not retry, except once after a refused access token:
/// `DeliveryState` decides when to retry.
package protocol PushSender: Sendable {
    /// Returns once the provider has accepted the push, which is not yet delivery.
    func send(_ push: Push) async throws(SendFailure) -> Acceptance
}

extension PushSender {
    /// Sends a push; returns the outcome as a value.
    package func outcome(of push: Push) async -> SendOutcome {
        do throws(SendFailure) {
            return .success(try await self.send(push))
        } catch {
            return .failure(error)
        }
    }
}
