internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Sends with a cached access token, and once more with a fresh one if the provider asks for that.
struct TokenSender: Sendable {
    let tokens: AccessTokenCache
    let client: HTTPClient
    /// The patterns by which devices may name hosts; empty if the operator has named the only
    /// host.
    var hosts: [HostPattern] = []
    /// Limits the calls to hosts under a wildcard.
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
            // A host under a wildcard may refuse every token; it must not cause a fetch for each
            // push.
            let age = host?.isWildcard == true ? Self.youngestAtNamedHosts : 0
            guard self.tokens.discard(token, ifOlderThan: age) else {
                throw SendFailure.misconfigured(reason: reason).counted(at: host)
            }
        }
        let fresh = try await self.tokens.token()
        do throws(SendFailure) {
            return try await self.attempt(try makeRequest(fresh), outcome)
        } catch .credentialExpired(let reason) {
            // If the provider refuses a fresh token, too, the credentials behind it are at fault.
            throw SendFailure.misconfigured(reason: reason).counted(at: host)
        }
    }

    /// The age in seconds from which the sender believes a host under a wildcard that a token is
    /// no longer valid.
    private static let youngestAtNamedHosts: TimeInterval = 60

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
