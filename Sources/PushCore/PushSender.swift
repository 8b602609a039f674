/// Sends pushes to a provider.
///
/// `send` has a deadline of its own. It does not retry, except once if the provider refuses the
/// access token: `DeliveryState` decides when to retry.
package protocol PushSender: Sendable {
    /// Sends a push, and returns as soon as the provider has accepted it. The provider may deliver
    /// the push later or never.
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
