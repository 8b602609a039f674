internal import CurlHTTP
package import Foundation
package import PushCore
package import Reactor

/// Sends notifications through WNS, with a token from Microsoft Entra or of a Microsoft account.
/// Call `close()` before the sender's event loop stops.
///
/// It has two clients: one calls the token endpoint, which the operator names, and one calls
/// channels, which devices name.
package final class WNSSender: PushSender {
    private let request: WNSRequest
    private let sender: TokenSender
    private let tokenClient: HTTPClient
    private let now: @Sendable () -> Date

    /// Creates a sender, and sends nothing yet. Throws if a setting is unusable.
    package init(
        _ settings: WNSSettings,
        on loop: EventLoop,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SenderSettingsError) {
        guard !settings.clientID.isEmpty else { throw .missingField("clientID") }
        guard !settings.clientSecret.exposed.isEmpty else {
            throw .badValue(field: "clientSecretFile", expected: "a file with the client secret, and is empty")
        }
        let tokenURL = try ConnectionSettings.endpoint(settings.tokenEndpoint, field: "tokenEndpoint")
        let handles = try WNSHandleRule(allowedHosts: settings.allowedHosts)
        let timeout = settings.connection.timeout
        let tokenClient = try settings.connection.makeClient(on: loop)
        let tokenRequest = WNSRequest.tokenRequest(
            at: tokenURL,
            clientID: settings.clientID,
            clientSecret: settings.clientSecret,
            scope: settings.scope,
            timeout: timeout
        )
        let tokens = AccessTokenCache(now: now) { () throws(SendFailure) in
            try await AccessToken.fetched(with: tokenRequest, by: tokenClient, now: now())
        }
        self.tokenClient = tokenClient
        self.request = WNSRequest(handles: handles, content: settings.content, timeout: timeout)
        self.sender = TokenSender(
            tokens: tokens,
            client: try settings.connection.makeClient(
                on: loop,
                allowedHosts: handles.hosts,
                addresses: settings.addresses
            ),
            hosts: handles.hosts,
            // This limit is half of the number of pushes that the lane (the queue of pushes to
            // WNS) sends concurrently.
            named: NamedHosts(limit: 2 * settings.connection.connections)
        )
        self.now = now
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        try await self.sender.send { token throws(SendFailure) in
            try self.request.make(push, token: token, now: self.now())
        } outcome: { response in
            WNSResponse.outcome(response, now: self.now())
        }
    }

    /// Fails the requests in progress and closes the connections.
    package func close() async {
        await self.sender.client.close()
        await self.tokenClient.close()
    }
}
