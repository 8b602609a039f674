internal import Foundation
internal import Synchronization

/// Firebase Cloud Messaging over HTTP v1, with the token endpoint for service accounts.
///
/// ```swift
/// let fcm = try FCMSimulator(authority: authority)
/// try fcm.serviceAccount.write(toFile: path, atomically: true, encoding: .utf8)
/// fcm.retire("device-token")            // answers 404 UNREGISTERED from now on
/// ```
/// `POST /token` stands for `https://oauth2.googleapis.com/token`; its requests are in
/// `tokenRequests`, not in `pushes`.
package final class FCMSimulator: PushSimulator {
    /// The service account's JSON file; its `token_uri` is the simulator's.
    package let serviceAccount: String
    /// The project whose messages are accepted.
    package let projectID: String
    /// The received pushes, and the queued answers of the test.
    package let pushes: PushLog
    /// The requests to the token endpoint, and the test's queued answers to them.
    package let tokenRequests: PushLog

    /// Verifies assertions; holds the service account's key.
    package let verifier: AssertionVerifier
    // A lock: `retire` may be called from any thread, and each read is short.
    private let rules: Mutex<FCMRules>
    private let accessTokens = AccessTokens()
    /// Counts the project's messages: refused ones, too, but not those over the quota.
    private let quota = RateLimit(window: 60)
    private let now: @Sendable () -> Date
    private let server: SimulatorServer

    private static let tokenLife = 3599

    /// Makes credentials and starts to listen. Without `key`, it makes a new key for the service
    /// account.
    ///
    /// Throws if the port is taken.
    package init(
        authority: TestAuthority,
        projectID: String = "sealpost-simulated",
        key: SigningKey? = nil,
        options: SimulatorOptions = SimulatorOptions()
    ) throws {
        self.projectID = projectID
        self.rules = Mutex(FCMRules(projectID: projectID))
        self.verifier = AssertionVerifier(
            key: try key ?? .rsa2048(),
            clientEmail: "push@\(projectID).iam.gserviceaccount.com",
            keyID: RandomText.make(40).lowercased()
        )
        self.pushes = PushLog(options)
        self.tokenRequests = PushLog(capacity: options.keptPushes, onPush: nil)
        self.now = options.now
        self.server = try SimulatorServer(
            port: options.port,
            identity: authority.makeServerIdentity(names: options.names),
            limits: .init(streamsBeforeProof: options.concurrentStreams, streams: options.concurrentStreams),
            speaksHTTP1: true,
            faults: self.pushes.faults
        )
        self.serviceAccount = try ServiceAccount(
            projectID: projectID,
            privateKeyID: self.verifier.keyID,
            privateKey: self.verifier.key.pem,
            clientEmail: self.verifier.clientEmail,
            tokenURI: "https://localhost:\(self.server.port)/token"
        ).json()
    }

    /// The port on 127.0.0.1.
    package var port: UInt16 { self.server.port }

    /// The URL of the token endpoint, as in the service account.
    package var tokenEndpoint: String { self.endpoint + "/token" }

    /// Answers 404 UNREGISTERED for this registration token or installation identifier from now
    /// on.
    package func retire(_ device: String) {
        self.rules.withLock { _ = $0.retired.insert(device) }
    }

    /// Answers 403 SENDER_ID_MISMATCH for this token from now on, as for one of another project's
    /// app.
    package func disown(_ device: String) {
        self.rules.withLock { _ = $0.foreign.insert(device) }
    }

    /// Treats this token as an Apple device's from now on.
    package func makeApple(_ device: String) {
        self.rules.withLock { _ = $0.apple.insert(device) }
    }

    /// Sets whether the project has a key with which FCM may send to Apple devices; without one it
    /// answers 401 THIRD_PARTY_AUTH_ERROR.
    package func setAppleKey(_ hasKey: Bool) {
        self.rules.withLock { $0.hasAppleKey = hasKey }
    }

    /// Limits the messages that the project may send in a minute; further ones get 429
    /// QUOTA_EXCEEDED.
    package func setQuota(_ limit: Int?) {
        self.quota.setLimit(limit)
    }

    /// Revokes all access tokens: the next push with one gets 401.
    package func revokeAccessTokens() {
        self.accessTokens.revokeAll()
    }

    /// The number of access tokens that were fetched while the one before had more than half of
    /// its life left; 0 for a good sender.
    package var needlessTokenCount: Int { self.accessTokens.needlessCount }

    /// Serves until the task is cancelled.
    package func run() async throws {
        try await self.server.serve { request in
            if request.path == "/token" {
                self.tokenRequests.answer(request, judge: self.judgeTokenRequest)
            } else {
                self.pushes.answer(request, judge: self.judgePush)
            }
        }
    }

    // MARK: - Private

    private func judgePush(_ request: SimulatedRequest) -> Judgement {
        do throws(FCMRefusal) {
            let rules = self.rules.withLock { $0 }
            try rules.checkTarget(request)
            guard self.accessTokens.authorize(request.header("authorization"), now: self.now()) else {
                throw .unauthenticated
            }
            guard self.quota.admits(now: self.now()) else { throw .quotaExceeded }
            try rules.checkMessage(request)
            let name = "projects/\(self.projectID)/messages/\(RandomText.make(20))"
            return .accepted(.json(["name": name]))
        } catch {
            return .refused(.json(["error": error], status: error.status), reason: error.reason)
        }
    }

    private func judgeTokenRequest(_ request: SimulatedRequest) -> Judgement {
        guard request.method == "POST", let form = FormFields(request) else {
            return .oauthError("invalid_request", "Not a form.")
        }
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            return .oauthError("unsupported_grant_type", "Invalid grant_type")
        }
        let now = self.now()
        if let objection = self.verifier.objection(to: form["assertion"] ?? "", now: now) {
            return .oauthError("invalid_grant", objection)
        }
        let token = self.accessTokens.issue(now: now, until: now.addingTimeInterval(Double(Self.tokenLife)))
        return .accepted(.json(AccessTokenAnswer(accessToken: token, expiresIn: Self.tokenLife)))
    }
}

private struct AccessTokenAnswer: Encodable {
    let accessToken: String
    let expiresIn: Int
    let tokenType = "Bearer"

    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case expiresIn = "expires_in"
        case tokenType = "token_type"
    }
}

/// The fields of a service account's file that a sender reads, and those that make it look like
/// Google's.
private struct ServiceAccount: Encodable {
    let type = "service_account"
    let projectID: String
    let privateKeyID: String
    let privateKey: String
    let clientEmail: String
    let clientID = "100000000000000000000"
    let tokenURI: String

    private enum CodingKeys: String, CodingKey {
        case type
        case projectID = "project_id"
        case privateKeyID = "private_key_id"
        case privateKey = "private_key"
        case clientEmail = "client_email"
        case clientID = "client_id"
        case tokenURI = "token_uri"
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
