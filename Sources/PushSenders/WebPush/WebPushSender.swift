internal import CurlHTTP
package import Foundation
package import PushCore
package import Reactor

/// Sends to browsers through whichever push service they have named. `close()` it before its loop is stopped.
///
/// Each allowed host has a client of its own, so that one push service that hangs costs the others no connection.
package final class WebPushSender: PushSender {
    private struct Service: Sendable {
        let pattern: HostPattern
        let client: HTTPClient
    }

    /// A host that only its device has named, and that does not answer, is asked again after this.
    private static let restOfNamedHost = Duration.seconds(60)

    private let request: WebPushRequest
    private let services: [Service]
    private let now: @Sendable () -> Date

    /// Throws if a setting is unusable; nothing is sent before the first push.
    package init(
        _ settings: WebPushSettings,
        on loop: EventLoop,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SenderSettingsError) {
        guard !settings.allowedHosts.isEmpty else { throw .missingField("allowedHosts") }
        var services: [Service] = []
        for text in settings.allowedHosts {
            guard let pattern = HostPattern(text) else {
                throw .badValue(field: "allowedHosts", expected: "a list of hosts, such as *.push.apple.com")
            }
            let client = try settings.connection.makeClient(
                on: loop,
                allowedHosts: [pattern],
                addresses: settings.addresses
            )
            services.append(Service(pattern: pattern, client: client))
        }
        let tokens = try VAPIDTokens(key: settings.key, subject: settings.subject)
        self.request = WebPushRequest(tokens: tokens, timeout: settings.connection.timeout)
        self.services = services
        self.now = now
    }

    /// The names of the push services that are allowed, one for each lane.
    package var serviceNames: [String] {
        self.services.map(\.pattern.name)
    }

    /// The name of the push service that a subscription is of; `nil` if none that is allowed.
    package func serviceName(of subscription: WebPushSubscription) -> String? {
        self.service(of: subscription)?.pattern.name
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        let subscription: WebPushSubscription
        do throws(WebPushSubscription.Flaw) {
            subscription = try WebPushSubscription(push.handle)
        } catch {
            throw .deviceGone(reason: "not a subscription")
        }
        guard let service = self.service(of: subscription) else {
            throw .rejected(reason: "the push service's host is not in allowedHosts")
        }
        let request = try self.request.make(push, to: subscription, now: self.now())
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await service.client.send(request)
        } catch {
            throw Self.failure(error, of: service.pattern)
        }
        return try WebPushResponse.outcome(response, now: self.now()).get()
    }

    /// Fails what is under way and closes the connections.
    package func close() async {
        for service in self.services { await service.client.close() }
    }

    // MARK: - Private

    private func service(of subscription: WebPushSubscription) -> Service? {
        self.services.first { $0.pattern.matches(subscription.endpoint) }
    }

    /// A name under a star is the device's invention, perhaps of a host that never was: that it does not answer must
    /// not count as an outage of the others'.
    private static func failure(_ error: OutboundError, of pattern: HostPattern) -> SendFailure {
        switch error {
        case .couldNotConnect, .tls:
            pattern.isWildcard
                ? .deviceBusy(reason: error.description, retryAfter: self.restOfNamedHost) : SendFailure(error)
        default: SendFailure(error)
        }
    }
}
