internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Sends pushes with a cached access token. If the provider calls the token expired, sends the
/// push once more with a new token.
struct TokenSender: Sendable {
    let tokens: AccessTokenCache
    let client: HTTPClient
    /// The hosts that devices may name, as patterns; empty if the operator has named the only
    /// host.
    var hosts: [HostPattern] = []
    /// Calls the hosts that only a wildcard allows. Limits the number of concurrent calls to hosts
    /// that have not answered yet. `nil` if devices name no hosts.
    var named: NamedHosts?

    func send(
        _ makeRequest: (Secret<String>) throws(SendFailure) -> OutboundRequest,
        outcome: (OutboundResponse) -> SendOutcome
    ) async throws(SendFailure) -> Acceptance {
        let token = try await self.tokens.token()
        let first = try makeRequest(token)
        let host = self.host(of: first)
        do throws(SendFailure) {
            return try await self.attempt(first, outcome)
        } catch .credentialExpired(let reason) {
            // A host that matches only a wildcard may refuse every token. It must not make the
            // server fetch a new token for each push.
            let age = host?.isWildcard == true ? Self.youngestAtNamedHosts : 0
            guard self.tokens.discard(token, ifOlderThan: age) else {
                throw SendFailure.misconfigured(reason: reason).counted(at: host)
            }
        }
        let fresh = try await self.tokens.token()
        do throws(SendFailure) {
            return try await self.attempt(try makeRequest(fresh), outcome)
        } catch .credentialExpired(let reason) {
            // If the provider refuses a new token, too, the credentials with which it was fetched
            // are at fault.
            throw SendFailure.misconfigured(reason: reason).counted(at: host)
        }
    }

    /// If a host that matches only a wildcard calls a token invalid, the sender believes the host
    /// only if the token is at least this many seconds old.
    private static let youngestAtNamedHosts: TimeInterval = 60

    private func attempt(
        _ request: OutboundRequest,
        _ outcome: (OutboundResponse) -> SendOutcome
    ) async throws(SendFailure) -> Acceptance {
        let host = self.host(of: request)
        let response = try await self.client.answer(to: request, at: host, within: self.named)
        return try outcome(response).mapError { $0.counted(at: host) }.get()
    }

    /// The pattern that the host matches, if a device has named the host; `nil` if the operator
    /// has named it.
    private func host(of request: OutboundRequest) -> HostPattern? {
        self.hosts.first { $0.matches(request.url) }
    }
}
