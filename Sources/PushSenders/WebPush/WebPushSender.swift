internal import CurlHTTP
package import Foundation
package import PushCore
package import Reactor

/// Sends to browsers through the push services of their subscriptions. Call `close()` before the
/// sender's event loop stops.
///
/// Each allowed host has a client of its own, so that a push service that does not answer uses no
/// connections of other services.
package final class WebPushSender: PushSender {
    private let request: WebPushRequest
    /// The rule for subscriptions, and the allowed push services.
    package let handles: WebPushHandleRule
    private let clients: [HostPattern: HTTPClient]
    private let named: [HostPattern: NamedHosts]
    private let now: @Sendable () -> Date

    /// Creates a sender, and sends nothing yet. Throws if a setting is unusable.
    package init(
        _ settings: WebPushSettings,
        on loop: EventLoop,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SenderSettingsError) {
        let handles = try WebPushHandleRule(allowedHosts: settings.allowedHosts)
        var clients: [HostPattern: HTTPClient] = [:]
        for service in handles.services where clients[service] == nil {
            clients[service] = try settings.connection.makeClient(
                on: loop,
                allowedHosts: [service],
                addresses: settings.addresses
            )
        }
        // All hosts under a service's wildcard that have not answered yet share this many
        // concurrent calls: half of the calls of a lane (the queue of pushes to one push service).
        let limit = 8 * settings.connection.connections
        self.named = Dictionary(uniqueKeysWithValues: clients.keys.map { ($0, NamedHosts(limit: limit)) })
        let tokens = try VAPIDTokens(key: settings.key, subject: settings.subject)
        let appleContent = WebPushContent(settings.alerts, placeholder: settings.placeholder)
        guard appleContent.paddedSize <= WebPushContent.greatestSize else {
            let room = "at most \(WebPushContent.greatestSize) bytes"
            throw .badValue(field: "placeholder", expected: "shorter: with the longest alert a message has \(room)")
        }
        self.request = WebPushRequest(
            tokens: tokens,
            content: WebPushContent(settings.alerts),
            appleContent: appleContent,
            timeout: settings.connection.timeout
        )
        self.handles = handles
        self.clients = clients
        self.now = now
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        let (subscription, service) = try self.address(of: push)
        guard let client = self.clients[service] else { preconditionFailure("each push service has a client") }
        let request = try self.request.make(push, to: subscription, now: self.now())
        let response = try await client.answer(to: request, at: service, within: self.named[service])
        return try WebPushResponse.outcome(response, now: self.now()).mapError { $0.counted(at: service) }.get()
    }

    /// Fails the requests in progress and closes the connections.
    package func close() async {
        for client in self.clients.values { await client.close() }
    }

    // MARK: - Private

    private func address(of push: Push) throws(SendFailure) -> (WebPushSubscription, HostPattern) {
        do throws(HandleFlaw) {
            let address = try self.handles.address(push.handle)
            return (address.subscription, address.service)
        } catch {
            switch error {
            case .malformed: throw .deviceGone(reason: "not a subscription")
            case .notAllowed: throw .rejected(reason: "the push service's host is not in allowedHosts")
            }
        }
    }
}
