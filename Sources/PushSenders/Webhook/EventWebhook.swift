internal import CurlHTTP
package import Foundation
package import PushCore
package import Reactor
internal import Synchronization

/// Posts signed messages with events to one URL that the operator has configured. Call `close()`
/// before the event loop of this object stops.
package final class EventWebhook: EventSender {
    private let url: OutboundURL
    private let timeout: Duration
    // A lock protects the secret, because a reload may replace it at any time, and each use is
    // short.
    private let secret: Mutex<WebhookSecret>
    private let client: HTTPClient
    private let now: @Sendable () -> Date

    /// Creates a sender, and sends nothing yet. Throws if a setting is unusable.
    package init(
        _ settings: WebhookSettings,
        on loop: EventLoop,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SenderSettingsError) {
        self.url = try ConnectionSettings.endpoint(settings.url, field: "url")
        self.secret = Mutex(try WebhookSecret(settings.secret))
        self.timeout = settings.connection.timeout
        self.client = try settings.connection.makeClient(on: loop)
        self.now = now
    }

    /// Signs all later messages with the secrets in this text. If the text is invalid, the old
    /// secrets stay in use.
    package func replaceSecret(with text: Secret<String>) throws(SenderSettingsError) {
        let new = try WebhookSecret(text)
        self.secret.withLock { $0 = new }
    }

    package func send(_ batch: EventBatch) async throws(SendFailure) {
        let now = self.now()
        let request = self.secret.withLock { secret in
            OutboundRequest.signed(
                by: secret,
                id: batch.id,
                body: batch.body,
                to: self.url,
                timeout: self.timeout,
                now: now
            )
        }
        let answer = ProviderAnswer(try await self.client.answer(to: request), now: self.now())
        _ = try Self.table.outcome(of: answer).get()
    }

    /// Fails the calls in progress and closes the connections.
    package func close() async {
        await self.client.close()
    }

    /// Events stay in the backlog if the receiver refuses them: an operator can repair the
    /// receiver, and the server never gives up an event, whatever the answer is.
    static let table = OutcomeTable(
        accepted: 200...299,
        [
            .init(408...408) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(425...425) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(429...429) { $0.overloadedIfTimed() },
            // The URL, the signature or the receiver is wrong; redirects are not followed.
            .init(300...499) { .misconfigured(reason: $0.reason) },
            .init(503...503) { $0.overloadedIfTimed() },
        ]
    )
}

extension OutboundRequest {
    /// A signed POST request of JSON, with the header fields of Standard Webhooks.
    static func signed(
        by secret: WebhookSecret,
        id: String,
        body: [UInt8],
        to url: OutboundURL,
        timeout: Duration,
        now: Date
    ) -> OutboundRequest {
        let timestamp = String(Int(now.timeIntervalSince1970))
        let headers = [
            OutboundRequest.Header("content-type", "application/json"),
            .init("webhook-id", id),
            .init("webhook-timestamp", timestamp),
            .init("webhook-signature", secret.signature(id: id, timestamp: timestamp, body: body)),
        ]
        return OutboundRequest(.post, url, headers: headers, body: body, timeout: timeout)
    }
}
