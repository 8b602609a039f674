import CurlHTTP
import Foundation
import Logging
import PushCore
import PushSenders
import PushServer
import Reactor
import ServiceLifecycle

/// The configured OIDC issuer of tokens, and the service that reads the issuer's keys.
struct IssuerSetup: Sendable {
    /// While the issuer does not answer, the server uses old keys for this number of seconds.
    private static let kept: TimeInterval = 86_400

    let issuer: Issuer
    private let configuration: Configuration.OIDC
    private let client: HTTPClient

    /// `apps` are all configured apps. Throws `ConfigurationError` if the file with the
    /// certificate authorities for the issuer cannot be read.
    init(_ configuration: Configuration.OIDC, apps: Set<AppName>, on loop: EventLoop, egress: Egress) throws {
        try TLSSetup.checkAuthorities(in: configuration.caFile, key: "signIn.oidc.caFile")
        self.configuration = configuration
        var rules = configuration.rules
        rules.knownApps = apps
        self.issuer = Issuer(rules: rules, keys: IssuerKeys(kept: Self.kept))
        let settings = HTTPClientSettings {
            $0.maximumResponseBody = 262_144
            $0.connectTimeout = .seconds(5)
            $0.caFile = configuration.caFile
            // An issuer on this machine may use plain HTTP.
            $0.allowsPlainHTTP = !configuration.url.isSecure
            $0.addresses = .any
            $0.proxy = egress.proxy
        }
        do throws(OutboundError) {
            self.client = try HTTPClient(settings, on: loop)
        } catch {
            throw ConfigurationError("signIn.oidc.caFile: \(error)")
        }
    }

    /// Closes the client; call this after the service has ended.
    func close() async {
        await self.client.close()
    }

    func makeService(logger: Logger) -> IssuerKeyService {
        IssuerKeyService(
            keys: self.issuer.keys,
            issuer: self.configuration.url,
            client: self.client,
            logger: logger
        )
    }
}

/// Reads the issuer's keys: at the start, again before their lifetime ends, and when a token names
/// an unknown key.
struct IssuerKeyService: Service {
    /// The shortest interval between two reads, whatever causes them.
    private static let pause = Duration.seconds(5)
    private static let timeout = Duration.seconds(5)
    /// Bounds for the lifetime of keys, in seconds. If the issuer states no lifetime, it is
    /// `usual`.
    private static let lifetime = (shortest: 60, usual: 600, longest: 3600)
    /// The longest delay between reads that fail.
    private static let longestDelay = Duration.seconds(60)

    let keys: IssuerKeys
    let issuer: OutboundURL
    let client: HTTPClient
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskCancellationHandler {
                var failures = 0
                while !Task.isCancelled {
                    let reading = self.keys.begin()
                    let wait: Duration
                    do {
                        let (keys, lifetime) = try await self.read()
                        let skipped = self.keys.end(reading, with: keys, now: Date())
                        self.report(skipped)
                        if failures > 0 || reading == 1 { self.logger.info("issuer's keys read") }
                        (wait, failures) = (lifetime, 0)
                    } catch {
                        self.keys.end(reading, with: nil, now: Date())
                        if Task.isCancelled { return }
                        failures += 1
                        self.report(error)
                        wait = min(Self.pause * (1 << min(failures - 1, 4)), Self.longestDelay)
                    }
                    // Shutdown ends the sleep early.
                    try? await Task.sleep(for: Self.pause)
                    await self.keys.wanted.wait(atMost: max(wait - Self.pause, .zero))
                }
            } onCancel: {
                self.keys.wanted.set()
            }
        }
    }

    private func report(_ skipped: [SkippedKey]) {
        guard !skipped.isEmpty else { return }
        self.logger.info(
            "issuer's keys skipped",
            metadata: ["keys": "\(skipped.map(\.description).joined(separator: ", "))"]
        )
    }

    private func report(_ error: any Error) {
        var metadata: Logger.Metadata = ["issuer": "\(self.issuer.text)", "error": "\(error)"]
        guard let readAt = self.keys.readAt else {
            return self.logger.warning(
                "issuer's keys not read, so the server accepts none of the issuer's tokens",
                metadata: metadata
            )
        }
        metadata["readAt"] = "\(readAt.formatted(.iso8601))"
        self.logger.warning("issuer's keys not read; those of the last read stay in use for a day", metadata: metadata)
    }

    /// The issuer's keys, and the lifetime that the issuer states for them.
    func read() async throws -> (IssuerKeySet, lifetime: Duration) {
        guard let url = self.issuer.appending(IssuerDocument.path) else {
            throw IssuerDocumentError("the issuer's address is too long")
        }
        let document = try IssuerDocument(try await self.get(url).body, of: self.issuer.text)
        guard let keySet = OutboundURL(document.keySet), keySet.isSecure || !self.issuer.isSecure else {
            throw IssuerDocumentError("jwks_uri is not an https address")
        }
        let response = try await self.get(keySet)
        let age = response.header("cache-control").flatMap(Self.maximumAge) ?? Self.lifetime.usual
        return (try IssuerKeySet(response.body), .seconds(min(max(age, Self.lifetime.shortest), Self.lifetime.longest)))
    }

    private func get(_ url: OutboundURL) async throws -> OutboundResponse {
        let request = OutboundRequest(.get, url, headers: [.init("accept", "application/json")], timeout: Self.timeout)
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await self.client.send(request)
        } catch {
            throw IssuerDocumentError("\(error)\(Self.remedy(for: error, at: url))")
        }
        guard response.status == 200 else {
            throw IssuerDocumentError("\(url.text) was answered with \(response.status)")
        }
        return response
    }

    private static func remedy(for error: OutboundError, at url: OutboundURL) -> String {
        switch error {
        case .tls:
            "; name the certificate authority of \(url.text) in signIn.oidc.caFile, "
                + "or correct the scheme of signIn.oidc.issuer if that server has no TLS"
        case .interrupted where !url.isSecure: "; if that server has TLS, signIn.oidc.issuer must begin with https"
        default: ""
        }
    }

    /// The seconds of `max-age` (RFC 9111 section 5.2.2.1), at most a year; `nil` if the field
    /// `Cache-Control` has no `max-age`.
    static func maximumAge(_ field: String) -> Int? {
        for part in field.split(separator: ",") {
            let words = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard words.count == 2, words[0].lowercased() == "max-age" else { continue }
            guard !words[1].isEmpty, words[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return min(Int(words[1]) ?? .max, 31_536_000)
        }
        return nil
    }
}
