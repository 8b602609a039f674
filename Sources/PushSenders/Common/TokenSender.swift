internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Sends with a cached access token, and once more with a fresh one if the provider asks for that.
struct TokenSender: Sendable {
    let tokens: AccessTokenCache
    let client: HTTPClient

    func send(
        _ makeRequest: (Secret<String>) throws(SendFailure) -> OutboundRequest,
        verdict: (OutboundResponse) -> Verdict
    ) async throws(SendFailure) -> Acceptance {
        var isSecondTry = false
        while true {
            let token = try await self.tokens.token()
            switch verdict(try await self.client.answer(to: try makeRequest(token))) {
            case .accepted(let acceptance): return acceptance
            case .failed(let failure): throw failure
            case .tokenExpired(let reason):
                // A second no to a token this fresh is about the credentials behind it.
                if isSecondTry { throw .misconfigured(reason: reason) }
                isSecondTry = true
                self.tokens.discard(token)
            }
        }
    }
}

extension HTTPClient {
    /// Sends a request; a call without an answer is sorted for the push.
    func answer(to request: OutboundRequest) async throws(SendFailure) -> OutboundResponse {
        do throws(OutboundError) {
            return try await self.send(request)
        } catch {
            throw SendFailure(error)
        }
    }
}

extension AccessToken {
    /// Asks a token endpoint. What would be a push's own fault is here the configuration's.
    static func fetched(
        with request: OutboundRequest,
        by client: HTTPClient,
        now: Date
    ) async throws(SendFailure) -> AccessToken {
        do throws(SendFailure) {
            return try AccessToken(try await client.answer(to: request), now: now)
        } catch {
            switch error {
            case .unavailable(let reason, let retryAfter):
                throw .unavailable(reason: "token endpoint: " + reason, retryAfter: retryAfter)
            case .overloaded(let reason, let retryAfter), .deviceBusy(let reason, let retryAfter):
                throw .overloaded(reason: "token endpoint: " + reason, retryAfter: retryAfter)
            case .rejected(let reason), .deviceGone(let reason, _), .deviceUnknown(let reason), .offline(let reason),
                .misconfigured(let reason):
                throw .misconfigured(reason: "token endpoint: " + reason)
            }
        }
    }
}
