internal import CurlHTTP
internal import PushCore

/// Sends with a cached access token, and once more with a fresh one if the provider asks for that.
struct TokenSender: Sendable {
    let tokens: AccessTokenCache
    let client: HTTPClient
    /// The patterns by which devices may name hosts; empty if the operator has named the only one.
    var hosts: [HostPattern] = []
    /// Bounds the calls to hosts under a wildcard.
    var named: NamedHosts?

    func send(
        _ makeRequest: (Secret<String>) throws(SendFailure) -> OutboundRequest,
        outcome: (OutboundResponse) -> SendOutcome
    ) async throws(SendFailure) -> Acceptance {
        let token = try await self.tokens.token()
        do throws(SendFailure) {
            return try await self.attempt(try makeRequest(token), outcome)
        } catch .credentialExpired {
            self.tokens.discard(token)
        }
        let fresh = try await self.tokens.token()
        let request = try makeRequest(fresh)
        do throws(SendFailure) {
            return try await self.attempt(request, outcome)
        } catch .credentialExpired(let reason) {
            // A second no to a token this fresh is about the credentials behind it.
            throw SendFailure.misconfigured(reason: reason).counted(at: self.host(of: request))
        }
    }

    private func attempt(
        _ request: OutboundRequest,
        _ outcome: (OutboundResponse) -> SendOutcome
    ) async throws(SendFailure) -> Acceptance {
        let host = self.host(of: request)
        let response = try await self.client.answer(to: request, at: host, within: self.named)
        return try outcome(response).mapError { $0.counted(at: host) }.get()
    }

    /// The pattern by which a device has named the host; `nil` if the operator has named it.
    private func host(of request: OutboundRequest) -> HostPattern? {
        self.hosts.first { $0.matches(request.url) }
    }
}
