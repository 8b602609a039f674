internal import Bytes
internal import CurlHTTP
package import Foundation
package import PushCore
package import Reactor

/// Sends to Apple's push service with a provider token. Call `close()` before the sender's event
/// loop stops.
package final class APNsSender: PushSender {
    private let request: APNsRequest
    private let token: APNsProviderToken
    private let client: HTTPClient
    private let now: @Sendable () -> Date

    /// Creates a sender, and sends nothing yet. Throws if a setting or the key is unusable.
    package init(
        _ settings: APNsSettings,
        on loop: EventLoop,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SenderSettingsError) {
        guard
            !settings.topic.isEmpty, settings.topic.utf8.allSatisfy(\.isVisible), !settings.topic.hasSuffix(".voip")
        else { throw .badValue(field: "topic", expected: "the app's bundle identifier") }
        self.token = try settings.tokens.token(key: settings.key, keyID: settings.keyID, teamID: settings.teamID)
        self.request = APNsRequest(
            endpoint: try ConnectionSettings.endpoint(settings.endpoint, field: "endpoint"),
            topic: settings.topic,
            envelope: settings.envelope,
            timeout: settings.connection.timeout
        )
        // Until a request with a valid token has arrived on a connection, Apple allows only one
        // stream on it.
        self.client = try settings.connection.makeClient(on: loop, provesConnections: true)
        self.now = now
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        let token = try self.token.token(now: self.now())
        do throws(SendFailure) {
            return try await self.attempt(push, token)
        } catch .credentialExpired(let reason) {
            // The server has signed the token within the last hour, so either Apple's clock or
            // this machine's clock is wrong.
            guard let fresh = try self.replacement(for: token) else { throw .misconfigured(reason: reason) }
            return try await self.lastAttempt(push, fresh)
        } catch .credentialRefused {
            return try await self.lastAttempt(push, try self.replacement(for: token) ?? token)
        }
    }

    /// Fails the calls in progress and closes the connections.
    package func close() async {
        await self.client.close()
    }

    // MARK: - Private

    private func attempt(_ push: Push, _ token: APNsProviderToken.Token) async throws(SendFailure) -> Acceptance {
        let request = try self.request.make(push, token: token.text)
        return try APNsResponse.outcome(try await self.client.answer(to: request), now: self.now()).get()
    }

    /// Sends the push once more. If Apple calls the token expired now, the server's clock or key
    /// is at fault.
    private func lastAttempt(_ push: Push, _ token: APNsProviderToken.Token) async throws(SendFailure) -> Acceptance {
        do throws(SendFailure) {
            return try await self.attempt(push, token)
        } catch .credentialExpired(let reason) {
            throw .misconfigured(reason: reason)
        }
    }

    /// The token that replaces a refused one; `nil` if the refused one is too young to be
    /// replaced.
    private func replacement(for refused: APNsProviderToken.Token) throws(SendFailure) -> APNsProviderToken.Token? {
        switch try self.token.replacement(for: refused, now: self.now()) {
        case .made(let token):
            // New connections are needed, because Apple refuses all tokens on a connection that
            // has carried an expired token.
            self.client.renewConnections()
            return token
        case .alreadyMade(let token): return token
        case .tooYoung: return nil
        }
    }
}
