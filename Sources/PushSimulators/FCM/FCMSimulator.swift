internal import Foundation
internal import Synchronization

/// Firebase Cloud Messaging over HTTP v1, with the token endpoint for service accounts.
///
/// ```swift
/// let fcm = try FCMSimulator(authority: authority)
/// try fcm.serviceAccount.write(toFile: path, atomically: true, encoding: .utf8)
/// fcm.retire("device-token")            // answers 404 UNREGISTERED from now on
/// ```
/// `POST /token` stands for `https://oauth2.googleapis.com/token`; what comes there is not among `pushes` but among
/// `tokenRequests`.
package final class FCMSimulator: PushSimulator {
    /// The service account's JSON file; its `token_uri` is the simulator's, its key is made anew.
    package let serviceAccount: String
    /// The project that may be sent in.
    package let projectID: String
    /// What came, and what is to be answered next.
    package let pushes: PushLog
    /// What came to the token endpoint, and what is to be answered next there.
    package let tokenRequests: PushLog

    /// The check of assertions, and with it the key.
    package let verifier: AssertionVerifier
    // A lock: `retire` is called from anywhere, and reading is short.
    private let rules: Mutex<FCMRules>
    private let accessTokens = AccessTokens()
    private let now: @Sendable () -> Date
    private let server: SimulatorServer

    private static let tokenLife = 3599

    /// Makes credentials and listens.
    ///
    /// Throws if the port is taken.
    package init(
        authority: TestAuthority,
        projectID: String = "sealpost-simulated",
        options: SimulatorOptions = SimulatorOptions()
    ) throws {
        self.projectID = projectID
        self.rules = Mutex(FCMRules(projectID: projectID))
        self.verifier = AssertionVerifier(
            key: try .rsa2048(),
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

    /// Answers for this registration token or installation identifier with 404 UNREGISTERED from now on.
    package func retire(_ device: String) {
        self.rules.withLock { _ = $0.retired.insert(device) }
    }

    /// Takes back all access tokens, so that the next push with one is answered with 401.
    package func revokeAccessTokens() {
        self.accessTokens.revokeAll()
    }

    /// How many access tokens were fetched while the one before had more than half of its life left: a sender keeps its.
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

/// The fields of a service account's file that matter, and those that only make it look like one.
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
