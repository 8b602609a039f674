import HTTPTypes
import PushAPI
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct MyTokenTests {
    static let refusals: [Refusal] = [
        .badRequest("Host is missing."), .targetTooLong, .headerTooLarge, .bodyTooLarge, .expectationFailed,
        .notImplemented, .versionNotSupported, .timedOut, .overloaded,
    ]

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    @Test(arguments: [("0", "3"), ("1", "20"), ("007", "122"), ("126322567", "2147483642")])
    func aTokenComesBackTimes17Plus3(sent: String, echo: String) async throws {
        let response = try await self.fixture.send(.get, "/healthz", headers: [("MyToken", sent)])
        #expect(response.status == .ok)
        #expect(response.fields[.myToken] == echo)
    }

    @Test(arguments: ["mytoken", "MYTOKEN", "myToken", "MyToken"])
    func theFieldNameIsReadInAnyCaseAndWrittenInOne(name: String) async throws {
        let response = try await self.fixture.send(.get, "/healthz", headers: [(name, "2")])
        #expect(response.fields[.myToken] == "37")
        #expect(response.rawNames.contains("MyToken"))
    }

    @Test(arguments: ["", "-1", "+1", "1.0", "0x10", "1e3", "one", "1 2", "1,2", "٣", "１"])
    func anInvalidNumberIsNamedAndNotEchoed(sent: String) async throws {
        let response = try await self.fixture.send(.get, "/healthz", headers: [("MyToken", sent)])
        try response.expectProblem(.invalidToken, "not a decimal number")
        #expect(response.fields[.myToken] == nil)
    }

    @Test(arguments: ["126322568", "2147483647", "2147483648", "4294967296", "99999999999999999999999"])
    func aNumberOutOfRangeIsNamedAndNotEchoed(sent: String) async throws {
        let response = try await self.fixture.send(.get, "/healthz", headers: [("MyToken", sent)])
        try response.expectProblem(.invalidToken, "126322567")
        #expect(response.fields[.myToken] == nil)
    }

    @Test(arguments: ["1", "2", "x"])
    func twoTokensAreRefused(second: String) async throws {
        let headers = [("MyToken", "1"), ("mytoken", second)]
        let response = try await self.fixture.send(.get, "/healthz", headers: headers)
        try response.expectProblem(.invalidToken, "more than once")
        #expect(response.fields[.myToken] == nil)
    }

    @Test func aBadTokenIsRefusedBeforeTheRequestIsHandled() async throws {
        let response = try await self.fixture.send(.post, "/api/register", user: nil, headers: [("MyToken", "x")])
        try response.expectProblem(.invalidToken)
        try await self.fixture.send(.post, "/api/notifications", headers: [("MyToken", "x")])
            .expectProblem(.invalidToken)
        #expect(self.fixture.wakeUps.count == 0)
    }

    // MARK: Refusals of the HTTP server

    @Test(arguments: Self.refusals)
    func aRefusalEchoesTheTokenAndTheRequestID(refusal: Refusal) throws {
        let head = try #require(
            RequestHead("GET / HTTP/1.1\r\nHost: x\r\nmytoken: 4\r\nX-Request-Id: r-1\r\n\r\n")
        )
        let response = self.fixture.server.refuse(refusal, head: head)
        response.expectEnvelope()
        #expect(response.status == refusal.status)
        #expect(response.fields[.myToken] == "71")
        #expect(response.rawNames.contains("MyToken"))
        #expect(response.fields[.requestID] == "r-1")
        #expect(try response.problem.detail == refusal.detail)
    }

    @Test(arguments: Self.refusals)
    func aRefusalBeforeTheHeadIsAnErrorLikeAnyOther(refusal: Refusal) throws {
        let response = self.fixture.server.refuse(refusal, head: nil)
        response.expectEnvelope()
        #expect(response.status == refusal.status)
        #expect(response.fields[.myToken] == nil)
    }

    @Test(arguments: ["x", "126322568", "1\r\nMyToken: 1"])
    func aRefusalPrecedesTheErrorOfABadToken(sent: String) throws {
        let head = try #require(RequestHead("GET / HTTP/1.1\r\nHost: x\r\nMyToken: \(sent)\r\n\r\n"))
        let response = self.fixture.server.refuse(.bodyTooLarge, head: head)
        response.expectEnvelope()
        try response.expectProblem(.payloadTooLarge)
        #expect(response.fields[.myToken] == nil)
    }

    @Test func anOverloadedServerSendsRetryAfter() {
        #expect(self.fixture.server.refuse(.overloaded, head: nil).fields[.retryAfter] == "1")
    }
}
