import Foundation
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct FCMSimulatorTests {
    enum Circumstance: Sendable {
        case foreignDevice, appleDevice, noAppleKey
        case quota(Int)
    }

    /// All tests share one key, because making a key takes longer than a test.
    private static let key = Result { try SigningKey.rsa2048() }

    private let authority: TestAuthority
    private let fcm: FCMSimulator
    private let message =
        #"{"message":{"token":"device","data":{"id":"42"},"android":{"priority":"HIGH","ttl":"60s"}}}"#

    init() throws {
        self.authority = try TestAuthority()
        self.fcm = try FCMSimulator(authority: self.authority, key: Self.key.get())
    }

    private func accessToken(options: [String] = ["--http2"]) async throws -> String {
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        let answer = try await Curl(trusting: self.authority).send(
            self.fcm.tokenEndpoint,
            headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
            body: "\(grant)&assertion=\(try Tokens.assertion(for: self.fcm.verifier, issued: .now))",
            options: options
        )
        let fields = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]
        return try #require(fields?["access_token"] as? String)
    }

    private func send(
        token: String,
        path: String = "messages:send",
        options: [String] = ["--http2"]
    ) async throws -> Curl.Answer {
        try await Curl(trusting: self.authority).send(
            "\(self.fcm.endpoint)/v1/projects/\(self.fcm.projectID)/\(path)",
            headers: [
                HeaderField("Authorization", "Bearer \(token)"), HeaderField("Content-Type", "application/json"),
            ],
            body: self.message,
            options: options
        )
    }

    @Test(arguments: ["--http2", "--http1.1"])
    func aMessageWithATokenFromTheTokenEndpointIsAccepted(version: String) async throws {
        let answer = try await self.fcm.whileRunning { _ in
            try await self.send(token: self.accessToken(options: [version]), options: [version])
        }
        #expect(answer.status == 200)
        #expect(answer.version == (version == "--http2" ? "HTTP/2" : "HTTP/1.1"))
        #expect(answer.body.hasPrefix(#"{"name":"projects/\#(self.fcm.projectID)/messages/"#))
        #expect(self.fcm.pushes.received.map(\.request.body) == [Array(self.message.utf8)])
        #expect(self.fcm.tokenRequests.acceptedCount == 1)
    }

    @Test(
        arguments: [
            ([.foreignDevice], 403, "SENDER_ID_MISMATCH"), ([.appleDevice], 200, nil),
            ([.appleDevice, .noAppleKey], 401, "THIRD_PARTY_AUTH_ERROR"), ([.noAppleKey], 200, nil),
            ([.quota(1)], 200, nil),
            ([.quota(0)], 429, "QUOTA_EXCEEDED"),
        ] as [([Circumstance], Int, String?)]
    )
    func aDeviceOfAnotherKindOrProjectIsAnsweredAsGoogleDoes(
        circumstances: [Circumstance],
        status: Int,
        code: String?
    ) async throws {
        for circumstance in circumstances {
            switch circumstance {
            case .foreignDevice: self.fcm.disown("device")
            case .appleDevice: self.fcm.makeApple("device")
            case .noAppleKey: self.fcm.setAppleKey(false)
            case .quota(let limit): self.fcm.setQuota(limit)
            }
        }
        let answer = try await self.fcm.whileRunning { _ in try await self.send(token: self.accessToken()) }
        #expect(answer.status == status)
        if let code { #expect(answer.body.contains(#""errorCode":"\#(code)""#)) }
    }

    @Test func aRetiredTokenIsUnregistered() async throws {
        self.fcm.retire("device")
        let answer = try await self.fcm.whileRunning { _ in try await self.send(token: self.accessToken()) }
        #expect(answer.status == 404)
        #expect(answer.body.contains(#""errorCode":"UNREGISTERED""#))
        #expect(answer.body.contains(#""status":"NOT_FOUND""#))
    }

    @Test func anUnknownOrRevokedAccessTokenIsRefused() async throws {
        let statuses = try await self.fcm.whileRunning { fcm in
            let token = try await self.accessToken()
            fcm.revokeAccessTokens()
            return [try await self.send(token: token).status, try await self.send(token: "x").status]
        }
        #expect(statuses == [401, 401])
    }

    @Test func manyMessagesGoSideBySideOverOneConnection() async throws {
        let answer = try await self.fcm.whileRunning { _ in
            try await self.send(
                token: self.accessToken(),
                path: "messages:send?[1-300]",
                options: ["--http2", "--parallel", "--parallel-max", "100", "--write-out", "connects=%{num_connects} "]
            )
        }
        #expect(self.fcm.pushes.acceptedCount == 300)
        #expect(answer.body.matches(of: /connects=1\b/).count == 1)
    }

    @Test(arguments: [["--http2"], ["--http1.1"], ["--http2", "--tls-max", "1.2"]])
    func aLongAnswerArrivesWholeThroughASocketThatIsOftenFull(options: [String]) async throws {
        let text = String(repeating: "0123456789abcdef", count: 500_000)
        self.fcm.pushes.answerNext(status: 200, body: text)
        let answer = try await self.fcm.whileRunning { _ in try await self.send(token: "x", options: options) }
        #expect(answer.body == text)
    }

    @Test func theServiceAccountNamesItsOwnTokenEndpointAndHoldsAPKCS8Key() throws {
        let account = try JSONDecoder().decode([String: String].self, from: Data(self.fcm.serviceAccount.utf8))
        #expect(account["token_uri"] == self.fcm.tokenEndpoint)
        #expect(account["private_key"]?.hasPrefix("-----BEGIN PRIVATE KEY-----\n") == true)
        #expect(account["project_id"] == self.fcm.projectID)
    }
}
