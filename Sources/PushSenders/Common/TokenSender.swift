internal import CurlHTTP
internal import PushCore

/// Sends with a cached access token, and once more with a fresh one if the provider asks for that.
struct TokenSender: Sendable {
    let tokens: AccessTokenCache
    let client: HTTPClient
    /// The patterns by which devices may name hosts; empty if the operator has named the only one.
    var hosts: [HostPattern] = []

    func send(
        _ makeRequest: (Secret<String>) throws(SendFailure) -> OutboundRequest,
        outcome: (OutboundResponse) -> SendOutcome
    ) async throws(SendFailure) -> Acceptance {
        let token = try await self.tokens.token()
        do throws(SendFailure) {
            return try outcome(try await self.answer(to: try makeRequest(token))).get()
        } catch .credentialExpired {
            self.tokens.discard(token)
        }
        let fresh = try await self.tokens.token()
        do throws(SendFailure) {
            return try outcome(try await self.answer(to: try makeRequest(fresh))).get()
        } catch .credentialExpired(let reason) {
            // A second no to a token this fresh is about the credentials behind it.
            throw .misconfigured(reason: reason)
        }
    }

    private func answer(to request: OutboundRequest) async throws(SendFailure) -> OutboundResponse {
        try await self.client.answer(to: request, at: self.hosts.first { $0.matches(request.url) })
    }
}
