internal import Logging
internal import SocketHTTP
internal import Synchronization

/// Counts requests in which an untrusted peer names a client, and logs the first one.
///
/// Such a peer is mostly a reverse proxy with another address than the operator thinks, such as
/// `::1`. All clients behind it then share one address in limits and in the audit. Anybody may
/// send the field, so only one line is logged.
final class UntrustedForwarding: Sendable {
    private let ignored = Atomic<Int>(0)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// Call it once for each request.
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
