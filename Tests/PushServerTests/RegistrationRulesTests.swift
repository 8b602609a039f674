import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The values that a registration may contain.
@Suite(.timeLimit(.minutes(5))) struct RegistrationRulesTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func put(_ body: String) async throws -> Response {
        try await self.fixture.issue("one")
        return try await self.fixture.send(.put, "/api/register/one", body: body)
    }

    private func put(tags: [String]) async throws -> Response {
        let list = tags.map { "\"\($0)\"" }.joined(separator: ",")
        return try await self.put(#"{"Platform":"apns","Handle":"aa","Tags":[\#(list)]}"#)
    }

    // MARK: Platforms

    @Test func aHandleOfTheMaximumLengthIsAccepted() async throws {
        let handle = String(repeating: "a", count: 4096)
        #expect(try await self.put(#"{"Platform":"apns","Handle":"\#(handle)"}"#).status == .ok)
        #expect(try await self.put(#"{"Platform":"apns","Handle":"!~"}"#).status == .ok)
    }

    @Test(arguments: ["APNS", "Apns", "mpns", "", " apns", "apns ", "webpush", "GCM", "adm"])
    func anUnknownPlatformIsRefusedWithTheKnownOnes(name: String) async throws {
        let response = try await self.put(#"{"Platform":"\#(name)","Handle":"aa"}"#)
        try response.expectProblem(.unknownPlatform, "apns, fcm, wns")
    }

    @Test func aLongPlatformNameIsTruncatedInTheAnswer() async throws {
        let response = try await self.put(#"{"Platform":"\#(String(repeating: "p", count: 9999))","Handle":"aa"}"#)
        try response.expectProblem(.unknownPlatform, "apns, fcm, wns")
        #expect(response.body.count < 500)
    }

    @Test func aRegistrationNeedsAConfiguredSender() async throws {
        let fixture = try await ServerFixture(settings: ServerSettings())
        let response = try await fixture.send(.put, "/api/register/one", body: #"{"Platform":"apns","Handle":"aa"}"#)
        try response.expectProblem(.unknownPlatform, "no sender is configured")
    }

    // MARK: Environments

    @Test(arguments: [
        ("apns", #""sandbox""#, nil), ("apns", #""production""#, nil), ("apns", "null", "null"),
        ("fcm", #""production""#, nil),
        ("fcm", #""sandbox""#, "Environment cannot be sandbox: the platform fcm has none"),
        ("apns", #""Sandbox""#, #"Environment must be "production" or "sandbox""#),
        ("apns", #""""#, #"Environment must be "production" or "sandbox""#),
        ("apns", "1", "Environment must be a string, not a number"),
    ])
    func onlyAPlatformWithASandboxHasTwoEnvironments(platform: String, environment: String, detail: String?)
        async throws
    {
        let rules = [
            Platform("apns"): ServerSettings.PlatformRule(SampleHandleRule(), hasSandbox: true),
            Platform("fcm"): ServerSettings.PlatformRule(SampleHandleRule()),
        ]
        let fixture = try await ServerFixture(settings: .forTests(\.platforms, rules))
        try await fixture.issue("a")
        let body = #"{"Platform":"\#(platform)","Handle":"aa","Environment":\#(environment)}"#
        let response = try await fixture.send(.put, Paths.registration("a"), body: body)
        if let detail, detail != "null" {
            try response.expectProblem(.invalidMember)
            #expect(try response.problem.detail == detail)
        } else {
            #expect(response.status == .ok)
            let list = try await fixture.send(.get, "/api/register").text
            let expected = environment == "null" ? #""production""# : environment
            #expect(list.contains(#""Environment":\#(expected)"#), "\(list)")
        }
    }

    // MARK: Handles

    @Test(arguments: ["", "a b", " a", #"a\n"#, #"a\u0000"#, #"\u007f"#, "ä", String(repeating: "a", count: 4097)])
    func anInvalidHandleIsRefused(handle: String) async throws {
        try await self.put(#"{"Platform":"apns","Handle":"\#(handle)"}"#).expectProblem(.invalidMember, "Handle")
    }

    @Test func aHandleOfTheWrongFormIsRefusedWithTheReason() async throws {
        let response = try await self.put(#"{"Platform":"wns","Handle":"http://wns.example"}"#)
        try response.expectProblem(.invalidMember, "Handle is not valid for wns: it must be https")
    }

    // MARK: Tags

    @Test(arguments: [
        ["a"], ["-_@#+.:"], ["AZaz09"], ["from"], ["username"], ["usernames:x"], ["x:from:y"],
        [String(repeating: "t", count: 120)], (1...60).map { "tag\($0)" },
    ])
    func tagsWithinTheLimitsAreAccepted(tags: [String]) async throws {
        #expect(try await self.put(tags: tags).status == .ok)
    }

    @Test(arguments: [
        [""], [" "], ["a b"], ["ä"], ["a,b"], ["a=b"], ["$a"], ["a", ""], [String(repeating: "t", count: 121)],
        (1...61).map { "tag\($0)" },
    ])
    func tagsBeyondTheLimitsAreRefused(tags: [String]) async throws {
        try await self.put(tags: tags).expectProblem(.invalidMember, "Tags")
    }

    @Test(arguments: ["username:bob", "username:alice", "Username:bob", "USERNAME:", "from:bob", "From:x"])
    func tagsThatOnlyTheServerGivesAreRefused(tag: String) async throws {
        try await self.put(tags: ["news", tag]).expectProblem(.invalidMember, "reserved")
        #expect(try await self.fixture.send(.get, "/api/register").text == "[]")
    }

    // MARK: Members

    @Test(arguments: [
        ("{}", "Platform is missing"), (#"{"Platform":"apns"}"#, "Handle is missing"),
        (#"{"Handle":"aa"}"#, "Platform is missing"), (#"{"Platform":null,"Handle":"aa"}"#, "Platform is missing"),
        (#"{"Platform":"apns","Handle":null}"#, "Handle is missing"),
        (#"{"Platform":1,"Handle":"aa"}"#, "Platform must be a string, not a number"),
        (#"{"platform":["apns"],"Handle":"aa"}"#, "Platform must be a string, not an array"),
        (#"{"Platform":"apns","Handle":{}}"#, "Handle must be a string, not an object"),
        (#"{"Platform":"apns","Handle":"aa","Tags":"news"}"#, "Tags must be an array of strings, not a string"),
        (#"{"Platform":"apns","Handle":"aa","Tags":{}}"#, "Tags must be an array of strings, not an object"),
        (#"{"Platform":"apns","Handle":"aa","Tags":["a",1]}"#, "Tags must be an array of strings, not a number"),
        (#"{"Platform":"apns","Handle":"aa","Tags":[null]}"#, "Tags must be an array of strings, not null"),
        (#"{"Platform":"apns","Handle":"aa","Tags":true}"#, "Tags must be an array of strings, not true or false"),
    ])
    func aMissingOrMistypedMemberIsNamed(body: String, detail: String) async throws {
        let response = try await self.put(body)
        try response.expectProblem(.invalidMember)
        #expect(try response.problem.detail == detail)
    }

    @Test func aStreamDevicesHandleIsIgnoredButMustBeAString() async throws {
        let platforms = [Platform("stream"): ServerSettings.PlatformRule(SampleHandleRule(.registrationID))]
        let fixture = try await ServerFixture(settings: .forTests(\.platforms, platforms))
        try await fixture.issue("a")
        for handle in ["", #","Handle":null"#, #","Handle":"a b""#] {
            let body = #"{"Platform":"stream"\#(handle)}"#
            #expect(try await fixture.send(.put, Paths.registration("a"), body: body).status == .ok, "\(handle)")
        }
        for handle in ["1", "{}", "[]", "true"] {
            let body = #"{"Platform":"stream","Handle":\#(handle)}"#
            try await fixture.send(.put, Paths.registration("a"), body: body)
                .expectProblem(.invalidMember, "Handle must be a string")
        }
    }

    // MARK: Ids

    @Test(arguments: ["a", "A-z_0.9", "6321218213637372908-5225854469778412245-3", String(repeating: "x", count: 128)])
    func anIDThatWasNeverIssuedIsGone(id: String) async throws {
        let path = Paths.registration(id)
        let response = try await self.fixture.send(.put, path, body: #"{"Platform":"apns","Handle":"aa"}"#)
        try response.expectProblem(.registrationGone, "not issued to this user")
        #expect(try await self.fixture.send(.get, "/api/register").text == "[]")
    }

    @Test(
        arguments: ["%20", "a%20b", "a:b", "a@b", "%C3%A4", "%FF", "~", String(repeating: "x", count: 129)],
        [HTTPRequest.Method.put, .delete]
    )
    func anInvalidIDIsRefused(id: String, method: HTTPRequest.Method) async throws {
        let body = #"{"Platform":"apns","Handle":"aa"}"#
        try await self.fixture.send(method, "/api/register/\(id)", body: body).expectProblem(.invalidParameter, "id")
    }
}
