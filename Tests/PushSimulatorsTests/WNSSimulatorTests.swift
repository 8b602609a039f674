import Foundation
import PushSimulators
import Testing

@Suite(.timeLimit(.minutes(5))) struct WNSSimulatorTests {
    private let authority: TestAuthority
    private let wns: WNSSimulator

    init() throws {
        self.authority = try TestAuthority()
        self.wns = try WNSSimulator(authority: self.authority)
    }

    private func accessToken(secret: String? = nil) async throws -> Curl.Answer {
        let credentials = self.wns.credentials
        let allowed = CharacterSet.alphanumerics
        let escaped = (secret ?? credentials.clientSecret).addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        return try await Curl(trusting: self.authority).send(
            self.wns.tokenEndpoint,
            headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
            body: "grant_type=client_credentials&client_id=\(credentials.clientID)&client_secret=\(escaped)"
                + "&scope=https%3A%2F%2Fwns.windows.com%2F.default"
        )
    }

    private static func fields(of answer: Curl.Answer) throws -> [String: String] {
        try JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))
    }

    private func send(to channel: String, version: String = "--http1.1") async throws -> Curl.Answer {
        let answer = try await self.accessToken()
        let token = try #require(Self.fields(of: answer)["access_token"])
        return try await Curl(trusting: self.authority).send(
            channel,
            headers: [
                HeaderField("Authorization", "Bearer \(token)"), HeaderField("X-WNS-Type", "wns/raw"),
                HeaderField("Content-Type", "application/octet-stream"),
            ],
            body: "42",
            options: [version]
        )
    }

    @Test(arguments: ["--http1.1", "--http2"])
    func aRawNotificationIsReceived(version: String) async throws {
        let channel = self.wns.makeChannel()
        let answer = try await self.wns.whileRunning { _ in try await self.send(to: channel, version: version) }
        #expect(answer.status == 200)
        #expect(answer.header("x-wns-status") == "received")
        #expect(answer.header("x-wns-msg-id")?.count == 16)
        #expect(self.wns.pushes.received.map(\.request.body) == [Array("42".utf8)])
    }

    @Test func anExpiredChannelIsGone() async throws {
        let channel = self.wns.makeChannel()
        self.wns.expire(channel)
        let answer = try await self.wns.whileRunning { _ in try await self.send(to: channel) }
        #expect(answer.status == 410)
    }

    @Test func aChannelWhoseEscapesWereDecodedIsUnknown() async throws {
        let channel = self.wns.makeChannel().replacing("%2f", with: "/")
        let answer = try await self.wns.whileRunning { _ in try await self.send(to: channel) }
        #expect(answer.status == 404)
    }

    @Test func theTokensLifeIsAStringAsInMicrosoftsSample() async throws {
        let answer = try await self.wns.whileRunning { _ in try await self.accessToken() }
        #expect(try Self.fields(of: answer)["expires_in"] == "86399")
    }

    @Test func aWrongSecretIsRefused() async throws {
        let answer = try await self.wns.whileRunning { _ in try await self.accessToken(secret: "wrong") }
        #expect(answer.status == 401)
        #expect(answer.body.contains(#""error":"invalid_client""#))
    }
}
