internal import CurlHTTP
package import Foundation
package import PushCore
package import Reactor

/// Sends to Firebase Cloud Messaging, API v1, with the tokens of `GoogleCredentials`. Call
/// `close()` before the sender's event loop stops.
package final class FCMSender: PushSender {
    private let request: FCMRequest
    private let sender: TokenSender
    /// Calls metadata servers; `nil` if the credentials need none.
    private let metadata: HTTPClient?
    private let now: @Sendable () -> Date

    /// Creates a sender, and sends nothing yet. Throws if a setting or the credentials are
    /// unusable.
    package init(
        _ settings: FCMSettings,
        on loop: EventLoop,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SenderSettingsError) {
        let source = try GoogleTokenSource(settings)
        let endpoint = try ConnectionSettings.endpoint(settings.endpoint, field: "endpoint")
        guard let url = endpoint.appending("/v1/projects/\(source.projectID)/messages:send") else {
            throw .badValue(field: "endpoint", expected: "a shorter URL")
        }
        let client = try settings.connection.makeClient(on: loop)
        let metadata = source.needsMetadata ? try MetadataServer.makeClient(on: loop) : nil
        let timeout = settings.connection.timeout
        self.request = FCMRequest(url: url, apple: settings.apple, android: settings.android, timeout: timeout)
        self.metadata = metadata
        self.now = now
        let tokens = AccessTokenCache(now: now) { () throws(SendFailure) in
            try await source.fetch(by: client, metadata: metadata, now: now())
        }
        self.sender = TokenSender(tokens: tokens, client: client)
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        try await self.sender.send { token throws(SendFailure) in
            try self.request.make(push, token: token, now: self.now())
        } outcome: { response in
            FCMResponse.outcome(response, now: self.now())
        }
    }

    /// Fails the calls in progress and closes the connections.
    package func close() async {
        await self.sender.client.close()
        await self.metadata?.close()
    }

    /// The request that exchanges a signed assertion for an access token (RFC 7523 section 2.1).
    static func exchange(
        _ account: ServiceAccount,
        at url: OutboundURL,
        timeout: Duration,
        now: Date
    ) throws(SendFailure) -> OutboundRequest {
        // Signing fails only if there is too little memory, so the reason need not contain the
        // error.
        guard let assertion = try? account.assertion(now: now) else {
            throw .misconfigured(reason: "signing with the key failed")
        }
        let form = FormText.encoded([
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", assertion),
        ])
        let headers = [OutboundRequest.Header("content-type", "application/x-www-form-urlencoded")]
        return OutboundRequest(.post, url, headers: headers, body: Array(form.utf8), timeout: timeout)
    }
}
