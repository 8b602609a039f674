internal import Bytes
internal import Foundation
internal import Synchronization

/// A receiver of webhooks that verifies requests by the rules of Standard Webhooks.
package final class WebhookSimulator: PushSimulator {
    /// The received pushes, and the answers that the test has queued.
    package let pushes: PushLog
    /// The secret with which the sender must sign, `whsec_` and base64; each simulator makes a new
    /// one.
    package let secret: String

    private let key: [UInt8]
    // A lock protects `retired`: devices may be retired from any thread. The lock is held only
    // briefly.
    private let retired = Mutex<Set<String>>([])
    private let now: @Sendable () -> Date
    private let server: SimulatorServer

    /// The largest difference between a timestamp and now, in seconds.
    private static let tolerance: TimeInterval = 300

    /// The body of a push, which has either the id of a notification or a confirmation code.
    private struct Message: Decodable {
        let secureId: String?
        let confirmation: String?
        let handle: String

        var isWhole: Bool {
            switch (self.secureId, self.confirmation) {
            case (let id?, nil): Int64(id) != nil
            case (nil, let code?): !code.isEmpty
            default: false
            }
        }
    }

    /// A message with events, in the order of their numbers.
    private struct EventMessage: Decodable {
        struct Content: Decodable {
            let events: [Event]

            enum CodingKeys: String, CodingKey { case events = "Events" }
        }

        struct Event: Decodable {
            let number: Int64

            enum CodingKeys: String, CodingKey { case number = "Number" }
        }

        let type: String
        let data: Content

        var isWhole: Bool {
            let numbers = self.data.events.map(\.number)
            return self.type == "sealpost.events" && !numbers.isEmpty
                && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
        }
    }

    /// Makes a secret and starts to listen.
    ///
    /// Throws if the port is taken.
    package init(authority: TestAuthority, options: SimulatorOptions = SimulatorOptions()) throws {
        self.key = (0..<32).map { _ in UInt8.random(in: 0 ... .max) }
        self.secret = "whsec_" + Base64.standard.text(of: self.key)
        self.pushes = PushLog(options)
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

    /// The URL for POST requests.
    package var url: String { self.endpoint + "/hook" }

    /// Answers 410 for the device with that handle from now on.
    package func retire(_ handle: String) {
        self.retired.withLock { _ = $0.insert(handle) }
    }

    /// Serves until the task is cancelled.
    package func run() async throws {
        try await self.server.serve { request in self.pushes.answer(request, judge: self.judge) }
    }

    /// Accepts or refuses a request as a careful receiver of webhooks does.
    func judge(_ request: SimulatedRequest) -> Judgement {
        func refused(_ status: Int, _ reason: String) -> Judgement {
            .refused(.json(["error": reason], status: status), reason: reason)
        }
        guard request.path == "/hook" else { return refused(404, "no such path") }
        guard request.method == "POST" else { return refused(405, "only POST") }
        guard self.isSigned(request) else { return refused(401, "not signed") }
        guard request.header("content-type") == "application/json" else { return refused(400, "no JSON") }
        // A body that is not an event message may be a push.
        if let events = try? JSONDecoder().decode(EventMessage.self, from: Data(request.body)) {
            return events.isWhole ? .accepted(SimulatedResponse(status: 204)) : refused(400, "no events")
        }
        guard
            // The decoder's error is ignored: the request is refused for the same reason, whatever
            // the error is.
            let message = try? JSONDecoder().decode(Message.self, from: Data(request.body)),
            message.isWhole
        else { return refused(400, "no message") }
        if self.retired.withLock({ $0.contains(message.handle) }) { return refused(410, "gone") }
        return .accepted(SimulatedResponse(status: 204))
    }

    private func isSigned(_ request: SimulatedRequest) -> Bool {
        guard
            let id = request.header("webhook-id"), let time = request.header("webhook-timestamp"),
            let seconds = TimeInterval(time),
            abs(Date(timeIntervalSince1970: seconds).timeIntervalSince(self.now())) <= Self.tolerance,
            let signatures = request.header("webhook-signature")
        else { return false }
        let code = HMACSHA256.code(key: self.key, Array("\(id).\(time).".utf8) + request.body)
        return signatures.split(separator: " ").contains("v1,\(Base64.standard.text(of: code))")
    }
}
