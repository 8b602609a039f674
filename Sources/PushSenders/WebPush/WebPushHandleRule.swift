package import CurlHTTP
package import PushCore

/// The rule for a browser's address, which is a subscription at an allowed push service.
package struct WebPushHandleRule: HandleRule {
    package struct Address: Sendable {
        package let subscription: WebPushSubscription
        package let service: HostPattern
    }

    /// The element of `allowedHosts` that allows any host at a public address, such as a
    /// UnifiedPush server that a user runs.
    package static let anyHost = "*"

    /// The allowed push services; the pushes to each service are in a queue (lane) of their own.
    /// The first pattern that matches a host counts. So the pattern for any host comes last: a
    /// device at a listed service must belong to that service's lane.
    package let services: [HostPattern]
    private let expected: String

    /// `allowedHosts` are the hosts that endpoints may have. Each is a pattern as `HostPattern`
    /// describes it, or `anyHost`.
    package init(allowedHosts: [String]) throws(SenderSettingsError) {
        guard !allowedHosts.isEmpty else { throw .missingField("allowedHosts") }
        var services: [HostPattern] = []
        for text in allowedHosts where text != Self.anyHost {
            guard let service = HostPattern(text) else {
                throw .badValue(field: "allowedHosts", expected: "a list of hosts, such as *.push.apple.com")
            }
            services.append(service)
        }
        let isAny = allowedHosts.contains(Self.anyHost)
        self.services = services + (isAny ? [.anyPublic] : [])
        self.expected =
            isAny
            ? "endpoint must be at a public host name, port 443"
            : "endpoint must be at \(allowedHosts.joined(separator: ", "))"
    }

    package var form: HandleForm { .object(canonical: Self.canonical) }

    /// A subscription has a random endpoint and 16 secret bytes.
    package var isGuessable: Bool { false }

    package func address(_ handle: String) throws(HandleFlaw) -> Address {
        let subscription = try Self.subscription(handle)
        guard let service = self.services.first(where: { $0.matches(subscription.endpoint) }) else {
            throw .notAllowed(self.expected)
        }
        return Address(subscription: subscription, service: service)
    }

    package func part(at address: Address) -> String? {
        address.service.name
    }

    private static func canonical(_ text: String) throws(HandleFlaw) -> DeviceHandle {
        guard let handle = DeviceHandle(try self.subscription(text).canonical) else {
            throw .malformed("it is too long")
        }
        return handle
    }

    private static func subscription(_ text: String) throws(HandleFlaw) -> WebPushSubscription {
        do throws(WebPushSubscription.Flaw) {
            return try WebPushSubscription(text)
        } catch {
            throw .malformed(error.description)
        }
    }
}
