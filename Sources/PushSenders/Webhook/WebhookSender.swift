internal import CurlHTTP
package import Foundation
package import PushCore
package import Reactor

/// Posts each push in a signed request to one URL that the operator has configured. Call `close()`
/// before the sender's event loop stops.
package final class WebhookSender: PushSender {
    private let request: WebhookRequest
    private let client: HTTPClient
    private let now: @Sendable () -> Date

    /// Creates a sender, and sends nothing yet. Throws if a setting is unusable.
    package init(
        _ settings: WebhookSettings,
        on loop: EventLoop,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SenderSettingsError) {
        self.request = WebhookRequest(
            url: try ConnectionSettings.endpoint(settings.url, field: "url"),
            secret: try WebhookSecret(settings.secret),
            timeout: settings.connection.timeout
        )
        self.client = try settings.connection.makeClient(on: loop)
        self.now = now
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        let request = self.request.make(push, now: self.now())
        return try WebhookResponse.outcome(try await self.client.answer(to: request), now: self.now()).get()
    }

    /// Fails the calls in progress and closes the connections.
    package func close() async {
        await self.client.close()
    }
}
