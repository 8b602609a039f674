internal import Foundation
internal import Synchronization

/// Windows Push Notification Services for raw notifications and toasts, with the token endpoints
/// of Microsoft Entra and of Microsoft accounts.
///
/// ```swift
/// let wns = try WNSSimulator(authority: authority)
/// let channel = wns.makeChannel()       // the URL that an app would upload
/// wns.expire(channel)                   // answers 410 from now on
/// ```
/// Requests to the token endpoint are in `tokenRequests`, not in `pushes`.
package final class WNSSimulator: PushSimulator {
    /// The credentials that a sender exchanges for access tokens.
    package struct Credentials: Sendable {
        /// The Entra tenant, a UUID.
        package let tenantID: String
        /// The application, a UUID.
        package let clientID: String
        /// The application's secret, with characters that must be escaped in a form.
        package let clientSecret: String
    }

    /// The credentials that a sender exchanges for access tokens; each simulator makes new ones.
    package let credentials: Credentials
    /// The received pushes, and the answers that the test has queued.
    package let pushes: PushLog
    /// The requests to the token endpoint, and the answers to them that the test has queued.
    package let tokenRequests: PushLog

    // A lock protects `rules`: channels may be made from any thread. The lock is held only
    // briefly.
    private let rules = Mutex(WNSRules())
    private let accessTokens = AccessTokens()
    private let now: @Sendable () -> Date
    private let server: SimulatorServer

    private static let tokenLife = 86399

    /// Makes credentials and starts to listen.
    ///
    /// Throws if the port is taken.
    package init(authority: TestAuthority, options: SimulatorOptions = SimulatorOptions()) throws {
        self.credentials = Credentials(
            tenantID: UUID().uuidString.lowercased(),
            clientID: UUID().uuidString.lowercased(),
            clientSecret: RandomText.make(20) + "~+/=" + RandomText.make(16)
        )
        self.pushes = PushLog(options)
        self.tokenRequests = PushLog(capacity: options.keptPushes, now: options.now, onPush: nil)
        self.now = options.now
        self.server = try SimulatorServer(
            port: options.port,
            identity: authority.makeServerIdentity(names: options.names),
            limits: .init(streamsBeforeProof: options.concurrentStreams, streams: options.concurrentStreams),
            speaksHTTP1: true,
            faults: self.pushes.faults
        )
    }

    /// The port on 127.0.0.1.
    package var port: UInt16 { self.server.port }

    /// The URL of Microsoft Entra's token endpoint, for apps of the Windows App SDK.
    package var tokenEndpoint: String { self.endpoint + self.entraPath }

    /// The URL of the token endpoint for apps of Partner Center (UWP).
    package var storeTokenEndpoint: String { self.endpoint + Self.storePath }

    private var entraPath: String { "/\(self.credentials.tenantID)/oauth2/v2.0/token" }
    private static let storePath = "/accesstoken.srf"

    /// For each path of a token endpoint, the scope of its tokens.
    private var scopes: [String: String] {
        [self.entraPath: "https://wns.windows.com/.default", Self.storePath: "notify.windows.com"]
    }

    /// Opens a channel and returns its URL. Senders must use the URL byte for byte: it contains
    /// percent-encoded characters, which decoding would change.
    ///
    /// `host` replaces `localhost` in the URL, for senders that check the name.
    package func makeChannel(host: String = "localhost") -> String {
        let path = "/w/?token=AwYAAAB\(RandomText.make(40))%2f\(RandomText.make(20))%2b\(RandomText.make(20))%3d%3d"
        self.rules.withLock { $0.channels[path] = .open }
        return "https://\(host):\(self.port)\(path)"
    }

    /// Answers 410 for this channel, named by its URL, from now on.
    package func expire(_ channel: String) {
        guard let start = channel.range(of: "/w/?")?.lowerBound else { return }
        self.rules.withLock { $0.channels[String(channel[start...])] = .expired }
    }

    /// Revokes all access tokens: the next push with a revoked token gets 401.
    package func revokeAccessTokens() {
        self.accessTokens.revokeAll()
    }

    /// The number of access tokens that were fetched too early: when the previous token had more
    /// than half of its lifetime left. A sender that works correctly causes 0.
    package var needlessTokenCount: Int { self.accessTokens.needlessCount }

    /// Serves until the task is cancelled.
    package func run() async throws {
        try await self.server.serve { request in
            if self.scopes[request.path] != nil {
                self.tokenRequests.answer(request, judge: self.judgeTokenRequest)
            } else {
                self.pushes.answer(request, judge: self.judgePush)
            }
        }
    }

    // MARK: - Private

    private func judgePush(_ request: SimulatedRequest) -> Judgement {
        var headers = [HeaderField("X-WNS-Msg-ID", RandomText.make(16))]
        do throws(WNSRefusal) {
            let now = self.now()
            try self.rules.withLock { $0 }.check(request) { self.accessTokens.authorize($0, now: now) }
            headers.append(HeaderField("X-WNS-Status", "received"))
            if request.header("x-wns-requestforstatus") == "true" {
                headers.append(HeaderField("X-WNS-DeviceConnectionStatus", "connected"))
            }
            return .accepted(SimulatedResponse(status: 200, headers: headers))
        } catch {
            headers.append(HeaderField("X-WNS-Error-Description", error.description))
            return .refused(SimulatedResponse(status: error.status, headers: headers), reason: error.description)
        }
    }

    private func judgeTokenRequest(_ request: SimulatedRequest) -> Judgement {
        guard request.method == "POST", let form = FormFields(request) else {
            return .oauthError("invalid_request", "Not a form.")
        }
        guard form["grant_type"] == "client_credentials" else {
            return .oauthError("unsupported_grant_type", "AADSTS70003: unsupported grant type.")
        }
        guard form["client_id"] == self.credentials.clientID else {
            return .oauthError("unauthorized_client", "AADSTS700016: application not found.")
        }
        guard form["client_secret"] == self.credentials.clientSecret else {
            return .oauthError("invalid_client", "AADSTS7000215: invalid client secret.", status: 401)
        }
        guard form["scope"] == self.scopes[request.path] else {
            return .oauthError("invalid_scope", "AADSTS70011: the scope is not valid.")
        }
        let now = self.now()
        let end = now.addingTimeInterval(Double(Self.tokenLife))
        return .accepted(
            .json(
                // The values are strings instead of numbers, as in Microsoft's sample.
                [
                    "token_type": "Bearer",
                    "expires_in": String(Self.tokenLife),
                    "ext_expires_in": String(Self.tokenLife),
                    "expires_on": String(Int(end.timeIntervalSince1970)),
                    "not_before": String(Int(now.timeIntervalSince1970)),
                    "access_token": self.accessTokens.issue(now: now, until: end),
                ]
            )
        )
    }
}
