import Foundation
import Synchronization
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct APNsSimulatorTests {
    private let authority: TestAuthority
    private let apns: APNsSimulator

    init() throws {
        self.authority = try TestAuthority()
        self.apns = try APNsSimulator(authority: self.authority)
    }

    private func headers(id: String) throws -> [HeaderField] {
        [
            HeaderField("authorization", "bearer \(try Tokens.provider(of: self.apns))"),
            HeaderField("apns-topic", "com.example.app"),
            HeaderField("apns-push-type", "background"),
            HeaderField("apns-priority", "5"),
            HeaderField("apns-id", id),
        ]
    }

    private static let silent = #"{"aps":{"content-available":1}}"#

    @Test func aGoodPushOverHTTP2IsAcceptedAndKeptByteForByte() async throws {
        let id = UUID().uuidString.lowercased()
        let payload = #"{"aps":{"content-available":1},"id":"42"}"#
        let (answer, push) = try await self.apns.whileRunning { apns in
            let answer = try await Curl(trusting: self.authority).send(
                apns.endpoint + "/3/device/abcd",
                headers: self.headers(id: id),
                body: payload
            )
            return (answer, try await apns.pushes.acceptedPush(1))
        }
        #expect(answer.status == 200)
        #expect(answer.version == "HTTP/2")
        #expect(answer.header("apns-id") == id)
        #expect(answer.body == "")
        #expect(push.request.method == "POST")
        #expect(push.request.path == "/3/device/abcd")
        #expect(push.request.header("apns-topic") == "com.example.app")
        #expect(push.request.body == Array(payload.utf8))
    }

    @Test func aRetiredTokenIsAnsweredWithItsTimeInMilliseconds() async throws {
        self.apns.retire("ABCD", at: Date(timeIntervalSince1970: 1_700_000_000.5))
        let answer = try await self.apns.whileRunning { apns in
            try await Curl(trusting: self.authority).send(
                apns.endpoint + "/3/device/abcd",
                headers: self.headers(id: UUID().uuidString.lowercased()),
                body: Self.silent
            )
        }
        #expect(answer.status == 410)
        #expect(answer.body == #"{"reason":"Unregistered","timestamp":1700000000500}"#)
    }

    @Test func aDeviceThatIsPushedTooOftenIsBusyAndOthersAreNot() throws {
        var options = SimulatorOptions()
        options.now = { Tokens.now }
        let apns = try APNsSimulator(authority: self.authority, options: options)
        apns.setLimitPerDevice(1)
        let token = try Tokens.provider(of: apns, issued: Tokens.now)
        let statuses = try ["abcd", "abcd", "abce"].map { device in
            var headers = try self.headers(id: UUID().uuidString.lowercased())
            headers[0] = HeaderField("authorization", "bearer \(token)")
            let path = "/3/device/" + device
            return apns.judge(SimulatedRequest(path: path, headers: headers, body: Array(Self.silent.utf8))).response
                .status
        }
        #expect(statuses == [200, 429, 200])
    }

    @Test func aClientThatSpeaksOnlyHTTP1IsRefused() async throws {
        await #expect(throws: Curl.Failure.self) {
            try await self.apns.whileRunning { apns in
                try await Curl(trusting: self.authority).send(apns.endpoint, body: "{}", options: ["--http1.1"])
            }
        }
    }

    @Test func aClientThatTrustsAnotherAuthorityDoesNotConnect() async throws {
        let stranger = try TestAuthority()
        await #expect(throws: Curl.Failure.self) {
            try await self.apns.whileRunning { apns in
                try await Curl(trusting: stranger).send(apns.endpoint, body: "{}")
            }
        }
    }

    @Test func scriptedAnswersComeOnceAndInOrder() async throws {
        let pushes = self.apns.pushes
        pushes.answerNext(
            status: 429,
            headers: [HeaderField("Retry-After", "7")],
            body: #"{"reason":"TooManyRequests"}"#
        )
        pushes.answerNext(status: 500)
        let answers = try await self.apns.whileRunning { apns in
            var answers: [Curl.Answer] = []
            for _ in 0..<3 {
                answers.append(
                    try await Curl(trusting: self.authority).send(
                        apns.endpoint + "/3/device/abcd",
                        headers: self.headers(id: UUID().uuidString.lowercased()),
                        body: Self.silent
                    )
                )
            }
            return answers
        }
        #expect(answers.map(\.status) == [429, 500, 200])
        #expect(answers[0].header("retry-after") == "7")
        #expect(pushes.received.map(\.verdict) == [.scripted(status: 429), .scripted(status: 500), .accepted])
    }

    @Test(arguments: [
        ("/3/device/abcd", true, true), ("/3/device/xyz", true, true), ("/3/device/abcd", false, false),
        ("/", true, false),
    ])
    func aClientIsProvenByAGoodTokenAlsoIfThePushIsRefused(path: String, tokenIsGood: Bool, isProven: Bool) throws {
        var request = SimulatedRequest(path: path, headers: try self.headers(id: UUID().uuidString.lowercased()))
        if !tokenIsGood { request.headers[0] = HeaderField("authorization", "bearer bad") }
        #expect(self.apns.judge(request).response.provesClient == isProven)
    }

    /// The seconds after the first token at which a second token arrives, the number of its
    /// connection, and the status.
    @Test(arguments: [(0.0, 1, 429), (1199, 1, 429), (1200, 1, 200), (0, 2, 200)])
    func aConnectionAcceptsOneTokenPerTwentyMinutes(later: Double, connection: Int, expected: Int) throws {
        let now = Mutex(Tokens.now)
        var options = SimulatorOptions()
        options.now = { now.withLock { $0 } }
        let apns = try APNsSimulator(authority: self.authority, options: options)
        func status(issued: Date, on connection: Int) throws -> Int {
            var headers = try self.headers(id: UUID().uuidString.lowercased())
            headers[0] = HeaderField("authorization", "bearer \(try Tokens.provider(of: apns, issued: issued))")
            var request = SimulatedRequest(path: "/3/device/abcd", headers: headers, body: Array(Self.silent.utf8))
            request.connection = connection
            return apns.judge(request).response.status
        }
        #expect(try status(issued: Tokens.now, on: 1) == 200)
        now.withLock { $0 += later }
        #expect(try status(issued: Tokens.now.addingTimeInterval(1), on: connection) == expected)
    }

    @Test func aPushWithoutAnIDIsGivenOne() {
        let response = self.apns.judge(SimulatedRequest(path: "/")).response
        #expect(response.headers.first { $0.name == "apns-id" }.flatMap { UUID(uuidString: $0.value) } != nil)
    }

    @Test func aWaitForAPushThatDoesNotComeEndsAtItsDeadline() async throws {
        await #expect(throws: PushWaitError.timedOut) {
            try await self.apns.pushes.acceptedPush(1, within: .milliseconds(10))
        }
    }

    @Test func thePrivateKeyIsPKCS8() {
        #expect(self.apns.credentials.privateKey.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test func aThousandRequestsGoOverOneConnection() async throws {
        let answer = try await self.apns.whileRunning { apns in
            try await Curl(trusting: self.authority).send(
                apns.endpoint + "/3/device/[100000-100999]",
                headers: self.headers(id: UUID().uuidString.lowercased()),
                body: Self.silent,
                options: ["--http2", "--write-out", "%{num_connects}"]
            )
        }
        #expect(self.apns.pushes.acceptedCount == 1000)
        #expect(answer.body.count { $0 == "1" } == 1)
    }
}
