import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The members of a posted notification in its full form, each with values at its limits.
@Suite(.timeLimit(.minutes(5))) struct NotificationOrderTests {
    static let longest = 2_592_000

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func post(_ members: String) async throws -> Response {
        let body = members.contains("Payload") ? "{\(members)}" : #"{"Payload":1,\#(members)}"#
        return try await self.fixture.send(.post, Paths.notifications, user: "paul", body: body)
    }

    static func quoted(_ count: Int, _ text: String = "x") -> String {
        "\"" + String(repeating: text, count: count) + "\""
    }

    static func expressions(_ count: Int) -> String {
        "[" + Array(repeating: "\"news\"", count: count).joined(separator: ",") + "]"
    }

    // MARK: Accepted

    @Test(arguments: [
        #""To":["username:bob"]"#, #""To":["!a && (b || c)"]"#, #""To":\#(expressions(20))"#,
        #""To":[\#(quoted(120, "t"))]"#, #""Platforms":["apns"]"#, #""Platforms":["gcm","fcm","wns"]"#,
        #""ExpiresIn":1"#, #""ExpiresIn":\#(longest)"#,
        #""Priority":"high""#, #""Priority":"normal""#, #""Priority":null"#, #""CollapseKey":"x""#,
        #""CollapseKey":\#(quoted(64))"#, #""CollapseKey":"!~""#, #""CollapseKey":null"#, #""Store":"cacheable""#,
        #""Store":"never""#, #""ReadOnce":true"#, #""ReadOnce":false"#,
        #""Unknown":{"deep":[1]}"#, #""payload":1"#, #""PAYLOAD":"x""#,
    ])
    func aMemberWithinItsLimitsIsAccepted(members: String) async throws {
        let response = try await self.post(members)
        #expect(response.status == .created, "\(response.text)")
    }

    // MARK: Refused

    @Test(arguments: [
        (#""Payload":null"#, "Payload is missing"), (#""NoPayload":1"#, "Payload is missing"),
        (#""To":null"#, "To must not be null; leave it out instead"),
        (#""To":["news"],"to":null"#, "To must not be null"), (#""App":null"#, "App must not be null"),
        (#""Platforms":null"#, "Platforms must not be null"), (#""SendAt":null"#, "SendAt must not be null"),
        (#""ExpiresIn":null"#, "ExpiresIn must not be null"), (#""Store":null"#, "Store must not be null"),
        (#""ReadOnce":null"#, "ReadOnce must not be null"),
        (#""To":[]"#, "To must have 1 to 20 elements"), (#""To":\#(expressions(21))"#, "To must have 1 to 20 elements"),
        (#""To":"username:bob""#, "To must be an array of strings, not a string"),
        (#""To":[1]"#, "To must be an array of strings, not a number"),
        (#""To":[["news"]]"#, "To must be an array of strings, not an array"),
        (#""To":[""]"#, "To has an element that is not a tag expression"), (#""To":["a &&"]"#, "To has an element"),
        (#""To":["a b"]"#, "To has an element"), (#""To":["(a"]"#, "To has an element"),
        (#""To":["ä"]"#, "To has an element"), (#""To":[\#(quoted(121, "t"))]"#, "To has an element"),
        (#""To":[\#(quoted(9999, "!"))]"#, "To has an element"),
        (#""To":[\#(quoted(9999, "("))]"#, "To has an element"),
        (#""Platforms":"apns""#, "Platforms must be an array of strings, not a string"),
        (#""Platforms":[null]"#, "Platforms must be an array of strings, not null"),
        (#""ExpiresIn":0"#, "ExpiresIn must be 1 to 2592000 seconds"),
        (#""ExpiresIn":-1"#, "ExpiresIn must be 1 to 2592000 seconds"),
        (#""ExpiresIn":\#(longest + 1)"#, "ExpiresIn must be 1 to 2592000 seconds"),
        (#""ExpiresIn":9223372036854775807"#, "ExpiresIn must be 1 to 2592000 seconds"),
        (#""ExpiresIn":99999999999999999999"#, "ExpiresIn must be an integer, not 99999999999999999999"),
        (#""ExpiresIn":1.5"#, "ExpiresIn must be an integer, not 1.5"),
        (#""ExpiresIn":1e3"#, "ExpiresIn must be an integer, not 1e3"),
        (#""ExpiresIn":"60""#, "ExpiresIn must be an integer, not a string"),
        (#""Priority":"urgent""#, #"Priority must be "high" or "normal""#),
        (#""Priority":"High""#, #"Priority must be "high" or "normal""#),
        (#""Priority":"""#, #"Priority must be "high" or "normal""#),
        (#""Priority":1"#, "Priority must be a string, not a number"),
        (#""CollapseKey":"""#, "CollapseKey must be 1 to 64 visible ASCII characters"),
        (#""CollapseKey":\#(quoted(65))"#, "CollapseKey must be 1 to 64"),
        (#""CollapseKey":"a b""#, "CollapseKey must be"),
        (#""CollapseKey":"\u0000""#, "CollapseKey must be"), (#""CollapseKey":"\r\nx""#, "CollapseKey must be"),
        (#""CollapseKey":"ä""#, "CollapseKey must be"), (#""CollapseKey":[]"#, "CollapseKey must be a string"),
        (#""Store":"always""#, #"Store must be "cacheable" or "never""#),
        (#""Store":false"#, "Store must be a string, not true or false"),
        (#""ReadOnce":"true""#, "ReadOnce must be true or false, not a string"),
        (#""ReadOnce":1"#, "ReadOnce must be true or false, not a number"),
    ])
    func aMemberBeyondItsLimitsIsNamed(members: String, detail: String) async throws {
        try await self.post(members).expectProblem(.invalidMember, detail)
        #expect(self.fixture.wakeUps.count == 0)
    }

    @Test(arguments: ["mpns", "APNS", "", "stream"])
    func anUnknownPlatformIsRefusedWithTheKnownOnes(name: String) async throws {
        try await self.post(#""Platforms":["apns","\#(name)"]"#).expectProblem(.unknownPlatform, "apns, fcm, wns")
    }

    // MARK: Effects

    @Test func priorityCollapseKeyAndExpiryGoToTheProvider() async throws {
        try await self.fixture.storage.addDevice(of: self.fixture.storage.user("paul"), handle: "a1")
        _ = try await self.post(#""Priority":"normal","CollapseKey":"inbox","ExpiresIn":60"#)
        let now = self.fixture.clock.now
        let leased = try await self.fixture.storage.lease()
        let push = try #require(leased.first?.push)
        #expect(push.priority == .normal)
        #expect(push.collapseID.utf8.count == 32)
        #expect(push.expiresAt == now + 60)
    }

    /// A notification with a collapse key replaces only earlier notifications of the same sender.
    @Test func collapseKeysOfDifferentSendersAreSeparate() async throws {
        try await self.fixture.storage.addDevice(of: self.fixture.storage.user("bob"), handle: "b1")
        let body = #"{"Payload":1,"To":["username:bob"],"CollapseKey":"inbox"}"#
        for sender in ["paul", "ada", "paul"] { _ = try await self.fixture.post(body, user: sender) }
        #expect(try await self.fixture.storage.reader.tallies()["apns"]?.pending == 2)
    }

    // MARK: Payload

    @Test(arguments: [
        "0", "-0", "1.50", "1e400", "123456789012345678901234567890", "0.1000000000000000055511151231257827",
        "true", "false", "\"\"", #""text""#, "[]", "{}", #"{"z":1,"a":2,"z":3}"#, #"[1,[2,[3,null]],{"":""}]"#,
        #"{"Payload":{"Payload":null}}"#, #""</script>\u0000""#,
    ])
    func aPayloadOfAnyKindIsFetchedAsItWasWritten(payload: String) async throws {
        let path = try await self.fixture.post(#"{"Payload": \#(payload) ,"To":["username:bob"]}"#)
        let text = try await self.fixture.send(.get, path, user: "bob").text
        #expect(text.contains(#","Payload":\#(payload),"Read":false,"#), "\(text)")
    }

    @Test func aPayloadMayBeAsLongAsTheOperatorsAllow() async throws {
        #expect(try await self.post(#""Payload":\#(Self.quoted(65_534))"#).status == .created)
        try await self.post(#""Payload":\#(Self.quoted(65_535))"#).expectProblem(.payloadTooLarge, "65536 bytes")
        try await self.fixture.send(.post, Paths.notifications, body: Self.quoted(65_535))
            .expectProblem(.payloadTooLarge, "65536 bytes")
    }

    @Test func aBodyBeyondTheServersLimitIsRefusedAsSuch() async throws {
        let blanks = String(repeating: " ", count: 262_144 - 13)
        #expect(try await self.post(#""Payload":1\#(blanks)"#).status == .created)
        try await self.post(#""Payload":1\#(blanks) "#).expectProblem(.payloadTooLarge, "body")
    }
}
