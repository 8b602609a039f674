import PushServer
import Reactor
import SocketHTTP

/// A configuration that the server could use, but that exposes users or payloads.
package struct ConfigurationRisk: Sendable, Hashable {
    enum Grade: Sendable {
        /// The server logs a warning and starts.
        case warned
        /// The server does not start.
        case refused
    }

    let grade: Grade
    /// The key of the configuration.
    package let key: String
    package let reason: String
}

extension Configuration {
    /// All risks, for `serve`, which refuses or logs them, and for `doctor`, which prints them.
    package var risks: [ConfigurationRisk] {
        [self.identityFromAnybody, self.identityForAnyHost, self.clearText].compactMap(\.self) + self.unprotectedOrigins
    }

    /// Throws a `ConfigurationError` for the first risk with which the server must not start.
    package func refuseRisks() throws {
        guard let risk = self.risks.first(where: { $0.grade == .refused }) else { return }
        throw ConfigurationError("\(risk.key): \(risk.reason)")
    }

    private var identityFromAnybody: ConfigurationRisk? {
        guard self.server.identityField != nil,
            let network = self.trustedProxies.first(where: { IPNetwork($0)?.isEverything == true })
        else { return nil }
        return ConfigurationRisk(
            grade: .refused,
            key: "server.trustedProxies",
            reason: "\"\(network)\" trusts every address, so anyone could sign in as any user with identityHeader; "
                + "list the proxies' own addresses"
        )
    }

    /// An attacker's domain name may resolve to the server's address. A page of that domain can
    /// then send any field, since the browser treats the server as the page's own origin. A
    /// browser cannot connect to a unix socket.
    private var identityForAnyHost: ConfigurationRisk? {
        guard self.server.identityField != nil, self.server.names.isEmpty,
            let network = self.trustedProxies.first(where: { $0 != "unix" })
        else { return nil }
        return ConfigurationRisk(
            grade: .refused,
            key: "server.names",
            reason: "is empty, and \(network) is trusted: a page whose name resolves to the server's address "
                + "could sign in as any user with identityHeader; list the hosts that clients use, or trust unix alone"
        )
    }

    private var clearText: ConfigurationRisk? {
        guard self.tls == nil, self.trustedProxies.isEmpty,
            let address = self.listen.first(where: { SocketAddress($0)?.isLocal == false })
        else { return nil }
        return ConfigurationRisk(
            grade: .warned,
            key: "server.listen",
            reason: "\(address) accepts passwords and sends payloads in clear text over the network; "
                + "configure server.tls, or a proxy that terminates TLS and server.trustedProxies"
        )
    }
}

extension Configuration {
    private var unprotectedOrigins: [ConfigurationRisk] {
        self.server.allowedOrigins.filter { !$0.isProtected }.sorted { $0.description < $1.description }.map { origin in
            ConfigurationRisk(
                grade: .warned,
                key: "server.allowedOrigins",
                reason: "\(origin) has no TLS: a network on the way can put its own scripts into the pages, "
                    + "and these scripts use the API as the pages do; allow an https origin"
            )
        }
    }
}

extension SocketAddress {
    /// Whether only processes of this machine can connect to the address.
    fileprivate var isLocal: Bool {
        guard case .tcp(let host, _) = self, let address = IPAddress(host) else { return true }
        return IPNetwork.loopback.contains { $0.contains(address) }
    }
}
