internal import CivilTime
internal import Foundation
internal import Reactor
internal import Synchronization

/// Firebase Cloud Messaging over HTTP v1, with the endpoints that give access tokens for a service
/// account's key and for workload identity federation, and with the metadata server.
///
/// ```swift
/// let fcm = try FCMSimulator(authority: authority)
/// try fcm.serviceAccount.write(toFile: path, atomically: true, encoding: .utf8)
/// fcm.retire("device-token")            // answers 404 UNREGISTERED from now on
/// ```
/// `POST /token` stands for `https://oauth2.googleapis.com/token`, `POST /v1/token` for the token
/// endpoint of `sts.googleapis.com`, and `POST
/// /v1/projects/-/serviceAccounts/…:generateAccessToken` for `iamcredentials.googleapis.com`. The
/// requests to these endpoints and to the metadata server are in `tokenRequests`, not in `pushes`.
package final class FCMSimulator: PushSimulator {
    /// The text of the service account's JSON file, whose `token_uri` is the simulator's token
    /// endpoint.
    package let serviceAccount: String
    /// The project whose messages are accepted.
    package let projectID: String
    /// The received pushes, and the answers that the test has queued.
    package let pushes: PushLog
    /// The requests to the endpoints for tokens, and the answers to them that the test has queued.
    package let tokenRequests: PushLog

    /// Verifies assertions; holds the service account's key.
    package let verifier: AssertionVerifier
    /// The workload identity pool. The simulator exchanges its subject tokens for access tokens.
    package let pool: WorkloadIdentityPool
    // A lock protects `rules`: `retire` may be called from any thread. The lock is held only
    // briefly.
    private let rules: Mutex<FCMRules>
    private let accessTokens = AccessTokens()
    private let federated = FederatedTokens()
    /// Counts the project's messages. Messages that the simulator refuses count, too, except those
    /// over the quota.
    private let quota = RateLimit(window: 60)
    private let now: @Sendable () -> Date
    private let server: SimulatorServer
    private let metadataServer: SimulatorServer

    static let tokenLife = 3599

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
        self.pool = try WorkloadIdentityPool(key: .p256())
        self.pushes = PushLog(options)
        self.tokenRequests = PushLog(capacity: options.keptPushes, now: options.now, onPush: nil)
        self.now = options.now
        let limits = SimulatorServer.Limits(
            streamsBeforeProof: options.concurrentStreams,
            streams: options.concurrentStreams
        )
        self.metadataServer = try SimulatorServer(plainOnPort: 0, limits: limits)
        self.server = try SimulatorServer(
            port: options.port,
            identity: authority.makeServerIdentity(names: options.names),
            limits: limits,
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

    /// The URL of the metadata server's tokens, in place of that at `metadata.google.internal`.
    package var metadataEndpoint: String { "http://127.0.0.1:\(self.metadataServer.port)\(MetadataRules.path)" }

    /// The configuration that `gcloud iam workload-identity-pools create-cred-config` writes.
    /// `source` is the JSON of its member `credential_source`, which says where the subject token
    /// is.
    package func externalAccount(source: String, impersonates: Bool = true) -> String {
        let path = ImpersonationRules.path(of: self.verifier.clientEmail)
        let impersonation = impersonates ? #","service_account_impersonation_url":"\#(self.endpoint)\#(path)""# : ""
        return #"{"type":"external_account","universe_domain":"googleapis.com","audience":"\#(self.pool.audience)","#
            + #""subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"\#(self.endpoint)/v1/token","#
            + #""credential_source":\#(source)\#(impersonation)}"#
    }

    /// Sets whether the federated identity itself may send, without a service account.
    package func setPrincipalMaySend(_ maySend: Bool) {
        self.federated.setMaySend(maySend)
    }

    /// Answers 404 UNREGISTERED for this registration token or installation identifier from now
    /// on.
    package func retire(_ device: String) {
        self.rules.withLock { _ = $0.retired.insert(device) }
    }

    /// Answers 403 SENDER_ID_MISMATCH for this token from now on, as for a token of another
    /// project's app.
    package func disown(_ device: String) {
        self.rules.withLock { _ = $0.foreign.insert(device) }
    }

    /// Treats this token as an Apple device's from now on.
    package func makeApple(_ device: String) {
        self.rules.withLock { _ = $0.apple.insert(device) }
    }

    /// Sets whether the project has a key with which FCM may send to Apple devices. Without such a
    /// key, FCM answers 401 THIRD_PARTY_AUTH_ERROR.
    package func setAppleKey(_ hasKey: Bool) {
        self.rules.withLock { $0.hasAppleKey = hasKey }
    }

    /// Limits the messages that the project may send in a minute; further messages get 429
    /// QUOTA_EXCEEDED.
    package func setQuota(_ limit: Int?) {
        self.quota.setLimit(limit)
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
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        await withDiscardingTaskGroup { group in
            group.addTask(executorPreference: loop) {
                await self.server.serve(on: loop) { self.answer($0) }
            }
            group.addTask(executorPreference: loop) {
                await self.metadataServer.serve(on: loop) { request in
                    self.tokenRequests.answer(request, judge: self.judgeMetadataRequest)
                }
            }
        }
    }

    // MARK: - Private

    private func answer(_ request: SimulatedRequest) -> SimulatedResponse {
        switch request.path {
        case "/token": self.tokenRequests.answer(request, judge: self.judgeTokenRequest)
        case "/v1/token": self.tokenRequests.answer(request, judge: self.judgeExchange)
        case ImpersonationRules.path(of: self.verifier.clientEmail):
            self.tokenRequests.answer(request, judge: self.judgeImpersonation)
        default: self.pushes.answer(request, judge: self.judgePush)
        }
    }

    private func judgePush(_ request: SimulatedRequest) -> Judgement {
        do throws(FCMRefusal) {
            let rules = self.rules.withLock { $0 }
            try rules.checkTarget(request)
            let (authorization, now) = (request.header("authorization"), self.now())
            if !self.accessTokens.authorize(authorization, now: now) {
                guard self.federated.authorizes(authorization, now: now) else { throw .unauthenticated }
                guard self.federated.maySend else { throw .permissionDenied }
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
        return .accepted(.json(self.issue(now: now)))
    }

    private func issue(now: Date) -> AccessTokenAnswer {
        let token = self.accessTokens.issue(now: now, until: now.addingTimeInterval(Double(Self.tokenLife)))
        return AccessTokenAnswer(accessToken: token, expiresIn: Self.tokenLife)
    }

    private func judgeExchange(_ request: SimulatedRequest) -> Judgement {
        let now = self.now()
        return self.pool.judge(request, now: now) { scope in
            let token = self.federated.issue(scope: scope, now: now)
            return .json(
                AccessTokenAnswer(
                    accessToken: token,
                    expiresIn: Self.tokenLife,
                    issuedTokenType: "urn:ietf:params:oauth:token-type:access_token"
                )
            )
        }
    }

    private func judgeImpersonation(_ request: SimulatedRequest) -> Judgement {
        let now = self.now()
        do throws(FCMRefusal) {
            guard self.federated.authorizes(request.header("authorization"), now: now) else {
                throw .unauthenticated
            }
            guard self.federated.mayImpersonate(request.header("authorization"), now: now) else {
                throw .permissionDenied
            }
            let end = now.addingTimeInterval(Double(try ImpersonationRules.lifetime(request)))
            let token = self.accessTokens.issue(now: now, until: end)
            let text = CivilTime(secondsSince1970: Int(end.timeIntervalSince1970)).rfc3339
            return .accepted(.json(["accessToken": token, "expireTime": text]))
        } catch {
            return .refused(.json(["error": error], status: error.status), reason: error.reason)
        }
    }

    private func judgeMetadataRequest(_ request: SimulatedRequest) -> Judgement {
        if let refusal = MetadataRules.refusal(of: request) { return refusal }
        var response = SimulatedResponse.json(self.issue(now: self.now()))
        response.headers.append(MetadataRules.flavor)
        return .accepted(response)
    }
}

private struct AccessTokenAnswer: Encodable {
    let accessToken: String
    let expiresIn: Int
    let tokenType = "Bearer"
    var issuedTokenType: String?

    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case issuedTokenType = "issued_token_type"
        case expiresIn = "expires_in"
        case tokenType = "token_type"
    }
}

/// The fields of a service account's file that a sender reads, and the fields that make it look
/// like Google's.
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
