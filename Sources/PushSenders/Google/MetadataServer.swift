internal import CurlHTTP
internal import Foundation
internal import PushCore
internal import Reactor

/// The metadata server of Google's cloud, which issues tokens of the attached service account:
/// https://cloud.google.com/compute/docs/metadata/overview
enum MetadataServer {
    static let tokenURL =
        "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"
    /// Google's and Azure's metadata servers share the first address.
    private static let hosts = ["169.254.169.254", "metadata.google.internal", "[fd20:ce::254]"]
    private static let loopback = ["127.0.0.1", "[::1]", "localhost"]

    /// Whether a URL is at the address of a metadata server. A call to a metadata server uses
    /// plain HTTP, and never leaves the physical host.
    static func isAddress(_ url: OutboundURL) -> Bool {
        !url.isSecure && url.port == 80 && self.hosts.contains(url.host)
    }

    /// The URL for tokens; `configured`, if the operator has set it, replaces Google's URL, for
    /// example by that of a simulator.
    static func url(_ configured: String?) throws(SenderSettingsError) -> OutboundURL {
        guard let url = OutboundURL(configured ?? self.tokenURL) else {
            throw .badValue(field: "tokenEndpoint", expected: "a URL")
        }
        guard url.isSecure || self.isAddress(url) || self.loopback.contains(url.host) else {
            throw .badValue(field: "tokenEndpoint", expected: "an https URL, or at the metadata server")
        }
        return url
    }

    static func request(at url: OutboundURL, timeout: Duration) -> OutboundRequest {
        OutboundRequest(.get, url, headers: [.init("metadata-flavor", "Google")], timeout: timeout)
    }

    /// Reads an answer. An answer without the field `Metadata-Flavor: Google` comes from another
    /// server, such as a captive portal.
    static func token(_ response: OutboundResponse, now: Date) throws(SendFailure) -> AccessToken {
        guard response.header("metadata-flavor") == "Google" else {
            throw .unavailable(reason: "the answer is not the metadata server's")
        }
        return try AccessToken(response, now: now)
    }

    /// A client that never uses the proxy: for a proxy, the same address would be that of the
    /// proxy's own metadata server.
    static func makeClient(on loop: EventLoop) throws(SenderSettingsError) -> HTTPClient {
        do throws(OutboundError) {
            return try HTTPClient(HTTPClientSettings { ($0.allowsPlainHTTP, $0.addresses) = (true, .any) }, on: loop)
        } catch {
            throw .badValue(field: "tokenEndpoint", expected: "callable: \(error)")
        }
    }
}
