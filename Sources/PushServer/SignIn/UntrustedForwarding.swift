internal import Logging
internal import SocketHTTP
internal import Synchronization

/// Counts requests in which a peer that is not a trusted proxy names the address of a client (as
/// in `X-Forwarded-For`), and logs the first of these requests.
///
/// The peer is mostly a reverse proxy whose address, such as `::1`, differs from the configured
/// one. All clients behind this proxy then share one address in limits and in the audit. Anybody
/// may send such a field, so only one line is logged.
final class UntrustedForwarding: Sendable {
    private let ignored = Atomic<Int>(0)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// Counts the request if it has a field with a client's address that the server ignores. Call
    /// this method once for each request.
    func check(_ request: Request) {
        guard let field = request.ignoredForwardedField else { return }
        guard self.ignored.wrappingAdd(1, ordering: .relaxed).oldValue == 0 else { return }
        self.logger.warning(
            "forwarded client address ignored, as the peer is not in server.trustedProxies; later ones are only counted",
            metadata: ["field": "\(field)", "peer": "\(request.peer)"]
        )
    }

    var sample: MetricSample {
        MetricSample(.forwardedIgnored, [:], Double(self.ignored.load(ordering: .relaxed)))
    }
}
