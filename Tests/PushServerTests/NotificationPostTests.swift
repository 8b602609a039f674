import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The three forms of `POST /api/notifications`, and their answers.
@Suite(.timeLimit(.minutes(5))) struct NotificationPostTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
        for (user, platform, handle) in [("alice", "apns", "a1"), ("alice", "fcm", "a:2"), ("bob", "fcm", "b:1")] {
            try await self.fixture.storage.addDevice(
                of: self.fixture.storage.user(user),
                platform: platform,
                handle: handle
            )
        }
    }

    private func post(_ query: String = "", user: String = "paul", body: String) async throws -> Response {
        try await self.fixture.send(.post, Paths.notifications + query, user: user, body: body)
    }

    /// Returns, in order, the handles of the devices that have a queued push.
    private func waiting() async throws -> [String] {
        var handles: [String] = []
        for platform in ["apns", "fcm", "wns"] {
            let leased = try await self.fixture.storage.lease(platform)
            handles += leased.map(\.push.handle)
        }
        return handles.sorted()
    }

    // MARK: No body

    @Test func theTutorialsButtonSendsToOnesOwnDevices() async throws {
        let response = try await self.post(user: "alice", body: "")
        #expect(response.status.code == 200, "the clients want exactly this")
        #expect(response.fields[.contentType] == "application/json; charset=utf-8")
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(response.fields[.location] == nil)
        let (now, later) = (self.fixture.clock.now, self.fixture.clock.now + 2_592_000)
        let id = try #require(try response.json["Id"]?.integer)
        #expect(
            response.text == #"{"Id":\#(id),"Payload":"Secure confirmation.","Read":false,"#
                + #""CreatedAt":"\#(now.rfc3339)","ExpiresAt":"\#(later.rfc3339)"}"#
        )
        #expect(try await self.waiting() == ["a1", "a:2"])
        #expect(self.fixture.wakeUps.count == 1)
        #expect(try await self.fixture.send(.get, "/api/notifications/\(id)").text == response.text)
    }

    @Test func theOperatorConfiguresThePayloadOfAnEmptyPost() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.emptyPayload, "\"Zwölf\"\n"))
        let response = try await fixture.send(.post, Paths.notifications)
        #expect(try response.json["Payload"] == .string("\"Zwölf\"\n"))
    }

    // MARK: A string

    @Test(arguments: [
        ("?pns=apns&to_tag=alice", ["a1"]), ("?pns=fcm&to_tag=alice", ["a:2"]), ("?pns=gcm&to_tag=alice", ["a:2"]),
        ("?pns=APNS&to_tag=Alice", ["a1"]), ("?to_tag=alice", ["a1", "a:2"]), ("?pns=wns&to_tag=alice", []),
        ("?to_tag=%62ob", ["b:1"]), ("?pns=apns&to_tag=bob", []), ("", []), ("?x=y&to_tag=bob", ["b:1"]),
    ])
    func aStringGoesToTheUserOnThePlatformInTheQuery(query: String, handles: [String]) async throws {
        let response = try await self.post(query, body: #""hello""#)
        #expect(response.status.code == 200)
        #expect(try response.json["Payload"] == .string("hello"))
        #expect(try await self.waiting() == handles)
    }

    @Test(arguments: [
        "\"\"", #""<toast>&\"'""#, #""line\nbreak\ttab""#, #""\u0000\u001f""#, #""\ud83d\udd10 🔐""#, #"  "blanks"  "#,
        #""ä\u00e4""#, #""\/""#,
    ])
    func aStringIsFetchedAsItWasSent(body: String) async throws {
        let sent = try JSONValue(reading: Array(body.utf8))
        let id = try #require(try await self.post("?to_tag=bob", body: body).json["Id"]?.integer)
        let collected = try await self.fixture.send(.get, "/api/notifications/\(id)", user: "bob")
        #expect(try collected.json["Payload"] == sent)
    }

    @Test func aUserWithoutADeviceCanFetch() async throws {
        let id = try #require(try await self.post("?to_tag=ada", body: #""x""#).json["Id"]?.integer)
        #expect(try await self.fixture.send(.get, "/api/notifications/\(id)", user: "ada").status == .ok)
    }

    @Test(arguments: ["?to_tag=nobody", "?to_tag=alic", "?pns=apns&to_tag=alice2"])
    func anUnknownUserIsRefused(query: String) async throws {
        try await self.post(query, body: #""x""#).expectProblem(.unknownUser, "does not exist")
        #expect(try await self.waiting() == [])
        #expect(self.fixture.wakeUps.count == 0)
    }

    @Test(arguments: ["?to_tag=", "?to_tag=a%20b", "?to_tag=a+b", "?to_tag=a:b", "?to_tag=%C3%A4"])
    func anInvalidUserNameIsRefused(query: String) async throws {
        try await self.post(query, body: #""x""#).expectProblem(.invalidParameter, "to_tag")
    }

    @Test(arguments: ["?to_tag=alice&to_tag=bob", "?pns=apns&pns=apns"])
    func aRepeatedParameterIsNamed(query: String) async throws {
        try await self.post(query, body: #""x""#).expectProblem(.invalidParameter, "more than once")
    }

    @Test(arguments: ["mpns", "", "adm", "apns%20", "toast"])
    func anUnknownPlatformIsRefusedWithTheKnownOnes(platform: String) async throws {
        try await self.post("?pns=\(platform)&to_tag=bob", body: #""x""#)
            .expectProblem(.unknownPlatform, "apns, fcm, wns")
    }

    @Test(arguments: ["", #"{"Payload":1}"#])
    func invalidParametersAreRefusedWhateverTheBody(body: String) async throws {
        try await self.post("?to_tag=a%20b", body: body).expectProblem(.invalidParameter, "to_tag")
        try await self.post("?pns=toast", body: body).expectProblem(.unknownPlatform, "apns, fcm, wns")
        #expect(self.fixture.wakeUps.count == 0)
    }

    // MARK: An object

    @Test func theFullFormIsCreatedAndAnsweredWithoutThePayload() async throws {
        let response = try await self.post(
            body: #"{"Payload":"treasure","To":["username:bob"],"ExpiresIn":60,"ReadOnce":false}"#
        )
        #expect(response.status.code == 201)
        #expect(response.fields[.cacheControl] == "no-store")
        let id = try #require(try response.json["Id"]?.integer)
        #expect(response.fields[.location] == "/api/notifications/\(id)")
        let now = self.fixture.clock.now
        #expect(
            response.text == #"{"Id":\#(id),"Read":false,"CreatedAt":"\#(now.rfc3339)","#
                + #""SendAt":null,"ExpiresAt":"\#((now + 60).rfc3339)","App":"default","To":["username:bob"],"#
                + #""Platforms":null,"Priority":"high","CollapseKey":null,"Store":"cacheable","ReadOnce":false,"#
                + #""Alert":null,"Recipients":1,"Pushes":1,"More":false}"#
        )
        #expect(try await self.waiting() == ["b:1"])
    }

    @Test func aPayloadAloneGoesToTheCallerOnAllPlatforms() async throws {
        _ = try await self.fixture.post(#"{"Payload":"x"}"#, user: "alice")
        #expect(try await self.waiting() == ["a1", "a:2"])
    }

    @Test(arguments: ["", #"{"Payload":1}"#])
    func recipientsInTheQueryAreRefusedWithoutAString(body: String) async throws {
        let response = try await self.post("?x=y&to_tag=bob", user: "alice", body: body)
        try response.expectProblem(.unknownParameter, "\"to_tag\" works only with a string as the body")
        #expect(try await self.waiting() == [])
    }

    @Test func theFullFormNamesUnknownUsersAndStoresNothing() async throws {
        let response = try await self.post(body: #"{"Payload":1,"To":["username:bob","username:nobody"]}"#)
        try response.expectProblem(.unknownUser, "nobody")
        #expect(try await self.waiting() == [])
    }

    @Test func eachDeviceIsPushedOnceHoweverManyExpressionsMeanIt() async throws {
        _ = try await self.fixture.post(
            #"{"Payload":1,"To":["username:bob","USERNAME:BOB","username:bob || username:alice"]}"#
        )
        #expect(try await self.waiting() == ["a1", "a:2", "b:1"])
    }

    // MARK: Ids

    @Test(arguments: [16, 31, 53])
    func idsArePositiveAndWithinTheirBits(bits: Int) async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.idBits, bits))
        var ids: Set<Int> = []
        for _ in 0..<40 {
            ids.insert(try #require(try await fixture.send(.post, Paths.notifications).json["Id"]?.integer))
            // Ids depend on the time. If the clock stood still between the posts, the ids would be
            // close to each other.
            fixture.clock.advance(by: 1)
        }
        #expect(ids.count == 40)
        #expect(ids.allSatisfy { (1..<1 << bits).contains($0) })
        #expect(ids.contains { $0 > 1 << (bits - 4) }, "all of the width is used")
    }

    @Test func idsAreUniqueAndExhaustionIsReported() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.idBits, 2))
        var ids: Set<Int> = []
        for _ in 0..<3 {
            ids.insert(try #require(try await fixture.send(.post, Paths.notifications).json["Id"]?.integer))
        }
        #expect(ids == [1, 2, 3])
        let response = try await fixture.send(.post, Paths.notifications)
        try response.expectProblem(.busy, "no free notification id was found; try again")
        #expect(response.fields[.retryAfter] == "1")
        #expect(fixture.wakeUps.count == 0, "nothing is to be sent")
    }
}
