internal import Bytes
internal import Foundation
internal import Synchronization

/// A push service with its browsers: RFC 8030, VAPID, and messages that are really decrypted.
///
/// ```swift
/// let service = try WebPushSimulator(authority: authority)
/// let subscription = try service.makeSubscription()   // its `json` is what a page would upload
/// service.retire(subscription)                        // answers 410 from now on
/// ```
package final class WebPushSimulator: PushSimulator {
    /// A browser that has subscribed.
    package struct Subscription: Sendable, Hashable {
        /// The result of `JSON.stringify(subscription)`.
        package let json: String
        /// The URL for pushes to the browser.
        package let endpoint: String
        /// The browser's private key, PKCS#8 in PEM, which a real browser never reveals.
        package let privateKey: String
        /// The browser's `auth`, in base64url.
        package let secret: String

        fileprivate let path: String
    }

    /// The received pushes, and the answers that the test has queued.
    package let pushes: PushLog

    // A lock protects `rules`: subscriptions may be made from any thread. The lock is held only
    // briefly.
    private let rules: Mutex<WebPushRules>
    private let now: @Sendable () -> Date
    private let server: SimulatorServer

    /// Starts to listen.
    ///
    /// Throws if the port is taken.
    package init(authority: TestAuthority, options: SimulatorOptions = SimulatorOptions()) throws {
        self.pushes = PushLog(options)
        self.now = options.now
        self.server = try SimulatorServer(
            port: options.port,
            identity: authority.makeServerIdentity(names: options.names),
            limits: .init(streamsBeforeProof: options.concurrentStreams, streams: options.concurrentStreams),
            speaksHTTP1: true,
            faults: self.pushes.faults
        )
        self.rules = Mutex(WebPushRules(audience: "https://localhost:\(self.server.port)"))
    }

    /// The port on 127.0.0.1.
    package var port: UInt16 { self.server.port }

    /// Subscribes a new browser; if `applicationServerKey` is not `nil`, the service accepts only
    /// pushes of a sender that has this key.
    ///
    /// Throws if a key cannot be generated.
    package func makeSubscription(applicationServerKey: String? = nil) throws -> Subscription {
        let key = try SigningKey.p256()
        let point = try key.publicPoint()
        let secret = (0..<16).map { _ in UInt8.random(in: 0 ... .max) }
        let path = "/push/v1/\(RandomText.make(60))"
        let (pointText, secretText) = (Base64.url.text(of: point), Base64.url.text(of: secret))
        let endpoint = self.endpoint + path
        let subscriber = WebPushRules.Subscriber(
            key: key,
            point: point,
            secret: secret,
            serverKey: applicationServerKey
        )
        self.rules.withLock { $0.subscribers[path] = subscriber }
        return Subscription(
            json: "{\"endpoint\":\"\(endpoint)\",\"expirationTime\":null,"
                + "\"keys\":{\"p256dh\":\"\(pointText)\",\"auth\":\"\(secretText)\"}}",
            endpoint: endpoint,
            privateKey: key.pem,
            secret: secretText,
            path: path
        )
    }

    /// Answers 410 for this subscription from now on.
    package func retire(_ subscription: Subscription) {
        self.rules.withLock { $0.subscribers[subscription.path]?.isRetired = true }
    }

    /// The plaintext of a message, as the browser would decrypt it; `nil` if the browser cannot
    /// decrypt the message, or does not exist.
    package func plaintext(of request: SimulatedRequest) -> String? {
        let subscriber = self.rules.withLock { $0.subscribers[request.path] }
        return subscriber?.open(request.body).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Serves until the task is cancelled.
    package func run() async throws {
        try await self.server.serve { request in self.pushes.answer(request, judge: self.judge) }
    }

    /// Accepts or refuses a request as a push service does.
    func judge(_ request: SimulatedRequest) -> Judgement {
        do throws(WebPushRefusal) {
            try self.rules.withLock { $0 }.check(request, now: self.now())
            let location = HeaderField("Location", "\(self.endpoint)/message/\(RandomText.make(20))")
            return .accepted(SimulatedResponse(status: 201, headers: [location]))
        } catch {
            return .refused(.json(["reason": error.reason], status: error.status), reason: error.reason)
        }
    }
}
