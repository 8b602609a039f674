internal import CurlHTTP
internal import Reactor

/// The settings of a sender's connections to its provider.
package struct ConnectionSettings: Sendable, Hashable {
    /// The file with PEM certificates that are trusted instead of the system's; `nil` if the
    /// system's are trusted.
    package var caFile: String?
    package var connections: Int
    package var streams: Int
    package var timeout: Duration
    package var egress: Egress

    package init(
        caFile: String? = nil,
        connections: Int = 1,
        streams: Int = 100,
        timeout: Duration = .seconds(15),
        egress: Egress = Egress()
    ) {
        self.caFile = caFile
        self.connections = connections
        self.streams = streams
        self.timeout = timeout
        self.egress = egress
    }

    /// Makes a client. If `allowedHosts` is `nil`, the client calls hosts that the operator has
    /// named. Otherwise it calls hosts that devices name and that match `allowedHosts`.
    func makeClient(
        on loop: EventLoop,
        allowedHosts: [HostPattern]? = nil,
        addresses: AddressPolicy = .any,
        provesConnections: Bool = false
    ) throws(SenderSettingsError) -> HTTPClient {
        guard (1...1000).contains(self.connections) else {
            throw .badValue(field: "connections", expected: "a number from 1 to 1000")
        }
        guard (1...1000).contains(self.streams) else {
            throw .badValue(field: "streams", expected: "a number from 1 to 1000")
        }
        guard self.timeout > .zero else { throw .badValue(field: "timeout", expected: "more than nothing") }
        let proxy = allowedHosts == nil || self.egress.includesDeviceHosts ? self.egress.proxy : nil
        let settings = HTTPClientSettings {
            $0.connectionsPerHost = self.connections
            $0.streamsPerConnection = self.streams
            $0.provesConnections = provesConnections
            // This is at least twice the number of streams: while all streams are in use, further
            // calls may wait for a free one.
            $0.maximumCalls = max(1024, 2 * self.connections * self.streams)
            $0.caFile = self.caFile
            $0.allowedHosts = allowedHosts
            // The address check does not apply to a proxy, because the operator has named it.
            $0.addresses = proxy == nil ? addresses : .any
            $0.proxy = proxy
        }
        do throws(OutboundError) {
            return try HTTPClient(settings, on: loop)
        } catch {
            throw .badValue(field: "caFile", expected: "a file that can be read")
        }
    }

    /// An https endpoint from the configuration.
    static func endpoint(_ text: String, field: String) throws(SenderSettingsError) -> OutboundURL {
        guard let url = OutboundURL(text), url.isSecure else { throw .badValue(field: field, expected: "an https URL") }
        return url
    }
}
