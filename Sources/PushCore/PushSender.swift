/// A way to a provider.
///
/// `send` has a deadline of its own and never tries twice, except once with a fresh access token: when to try again is
/// for `DeliveryState` to say.
package protocol PushSender: Sendable {
    /// Returns once the provider has accepted the push, which is not yet delivery.
    func send(_ push: Push) async throws(SendFailure) -> Acceptance
}

extension PushSender {
    /// Sends a push; the outcome as a value.
    package func outcome(of push: Push) async -> SendOutcome {
        do throws(SendFailure) {
            return .success(try await self.send(push))
        } catch {
            return .failure(error)
        }
    }
}
