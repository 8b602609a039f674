package import Foundation
internal import Synchronization

/// Apple's push service: provider tokens and pushes to devices.
///
/// ```swift
/// let apns = try APNsSimulator(authority: authority)
/// apns.retire("abcd", at: Date())       // answers 410 Unregistered from now on
/// apns.pushes.answerNext(status: 503, body: #"{"reason":"ServiceUnavailable"}"#)
/// ```
/// As Apple does, the simulator allows a connection only one request at a time until a request had
/// a valid provider token. A connection may use a new token every twenty minutes.
package final class APNsSimulator: PushSimulator {
    /// The credentials of the sender.
    package struct Credentials: Sendable {
        /// The content of `AuthKey_….p8`.
        package let privateKey: String
        /// The key's identifier, ten characters.
        package let keyID: String
        /// The team's identifier, ten characters.
        package let teamID: String
        /// The app's bundle identifier.
        package let topic: String
    }

    /// The credentials of the sender; each simulator makes new ones.
    package let credentials: Credentials
    /// The devices that Apple knows, in both environments.
    package let devices: APNsDevices
    /// The received pushes, and the answers that the test has queued.
    package let pushes: PushLog

    /// The private key in `credentials`.
    package let key: SigningKey
    // A lock protects the rules: any thread may call `retire`. The lock is held only briefly.
    private let rules: Mutex<APNsRules>
    private let tokenUpdates = ProviderTokenUpdates()
    private let pace = RateLimit(window: 1)
    private let now: @Sendable () -> Date
    private let server: SimulatorServer

    /// Makes credentials and starts to listen.
    ///
    /// Throws if the port is taken.
    package convenience init(
        authority: TestAuthority,
        topic: String = "com.example.app",
        options: SimulatorOptions = SimulatorOptions()
    ) throws {
        let key = try SigningKey.p256()
        let credentials = Credentials(
            privateKey: key.pem,
            keyID: RandomText.make(10),
            teamID: RandomText.make(10),
            topic: topic
        )
        try self.init(.production, key, credentials, APNsDevices(), authority, options)
    }

    /// Creates the simulator of Apple's sandbox that belongs to a simulator of production. Both
    /// know the same key and devices.
    package convenience init(
        sandboxOf production: APNsSimulator,
        authority: TestAuthority,
        options: SimulatorOptions = SimulatorOptions()
    ) throws {
        try self.init(
            .sandbox,
            production.key,
            production.credentials,
            production.devices,
            authority,
            options
        )
    }

    private init(
        _ environment: APNsEnvironment,
        _ key: SigningKey,
        _ credentials: Credentials,
        _ devices: APNsDevices,
        _ authority: TestAuthority,
        _ options: SimulatorOptions
    ) throws {
        self.key = key
        self.credentials = credentials
        self.devices = devices
        let verifier = ProviderTokenVerifier(key: key, keyID: self.credentials.keyID, teamID: self.credentials.teamID)
        self.rules = Mutex(
            APNsRules(topic: credentials.topic, environment: environment, devices: devices) {
                token throws(APNsRefusal) in try verifier.issueDate(of: token)
            }
        )
        self.pushes = PushLog(options)
        self.now = options.now
        self.server = try SimulatorServer(
            port: options.port,
            identity: authority.makeServerIdentity(names: options.names),
            limits: .init(streamsBeforeProof: 1, streams: options.concurrentStreams),
            speaksHTTP1: false,
            faults: self.pushes.faults
        )
    }

    /// The port on 127.0.0.1.
    package var port: UInt16 { self.server.port }

    /// Answers 410 with the time `date` for this device token from now on.
    package func retire(_ deviceToken: String, at date: Date) {
        self.rules.withLock { $0.retired[deviceToken.lowercased()] = date }
    }

    /// Answers 410 ExpiredToken with the time `date` for this device token from now on.
    package func expire(_ deviceToken: String, at date: Date) {
        self.rules.withLock { $0.expired[deviceToken.lowercased()] = date }
    }

    /// Limits the pushes that a device may get within a second; further pushes get 429
    /// TooManyRequests. `nil` removes the limit.
    package func setLimitPerDevice(_ limit: Int?) {
        self.pace.setLimit(limit)
    }

    /// Makes the provider's key valid only in these environments from now on.
    package func restrictKey(to environments: Set<APNsEnvironment>) {
        self.rules.withLock { $0.keyEnvironments = environments }
    }

    /// Serves until the task is cancelled.
    package func run() async throws {
        try await self.server.serve { request in self.pushes.answer(request, judge: self.judge) }
    }

    /// Accepts or refuses a request as APNs does, and determines whether the request authenticates
    /// the client.
    func judge(_ request: SimulatedRequest) -> Judgement {
        let id = HeaderField("apns-id", request.header("apns-id") ?? UUID().uuidString.lowercased())
        do throws(APNsRefusal) {
            try self.rules.withLock { $0 }.check(request, now: self.now())
            if request.connection > 0, let token = request.header("authorization") {
                try self.tokenUpdates.check(token, on: request.connection, now: self.now())
            }
            guard self.pace.admits(request.path, now: self.now()) else { throw APNsRefusal(.tooManyRequests) }
            var response = SimulatedResponse(status: 200, headers: [id])
            response.provesClient = true
            return .accepted(response)
        } catch {
            var response = SimulatedResponse(status: error.status, headers: [id], body: Array(error.json.utf8))
            // A refusal with a status other than 403, 404 or 405 authenticates the client, because
            // APNs has then found the provider token valid.
            response.provesClient = ![403, 404, 405].contains(error.status)
            return .refused(response, reason: error.reason.rawValue)
        }
    }
}
