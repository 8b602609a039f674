import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The forms of requests and answers in Microsoft's tutorial, on which the tutorial's clients
/// rely.
@Suite(.timeLimit(.minutes(5))) struct RegistrationTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    /// Issues the id to the user and registers a device under it. Returns the answer.
    private func put(_ id: String, _ body: String, user: String = "alice") async throws -> Response {
        try await self.fixture.issue(id, to: user)
        return try await self.fixture.send(.put, Paths.registration(id), user: user, body: body)
    }

    private func devices(user: String = "alice") async throws -> [JSONValue] {
        let response = try await self.fixture.send(.get, Paths.register, user: user)
        #expect(response.status == .ok)
        guard case .array(let devices) = try response.json else {
            Issue.record("no array: \(response.text)")
            return []
        }
        return devices
    }

    // MARK: An id

    @Test(arguments: [
        ("", nil), ("", "text/plain; charset=utf-8"), ("", "application/json"), ("{not json", "application/json"),
        ("x=1", "application/x-www-form-urlencoded"), ("\u{0}", "image/png"),
    ])
    func anIDIsAQuotedStringWhateverTheBody(body: String, type: String?) async throws {
        let headers = type.map { [("Content-Type", $0)] } ?? []
        let response = try await self.fixture.send(.post, Paths.register, headers: headers, body: body)
        #expect(response.status.code == 200, "the clients want exactly this")
        #expect(response.fields[.contentType] == "application/json; charset=utf-8")
        #expect(response.fields[.cacheControl] == "no-store")
        // The clients put the id into a path without encoding it, so the id must have only
        // unreserved characters.
        #expect(response.text.wholeMatch(of: /"[A-Za-z0-9_-]{16,128}"/) != nil, "\(response.text)")
    }

    @Test func eachRequestWithoutAHandleGetsAFreshID() async throws {
        let ids = [try await self.fixture.requestRegistration(), try await self.fixture.requestRegistration()]
        #expect(ids[0] != ids[1])
    }

    @Test(arguments: [("ABCDEF0123", "abcdef0123"), ("abcdef0123", "ABCDEF0123"), ("a:B-c_D", "a:B-c_D")])
    func aHandleGivesTheSameIDAgain(first: String, second: String) async throws {
        let id = try await self.fixture.requestRegistration(handle: first)
        #expect(try await self.put(id, #"{"Platform":"apns","Handle":"\#(first)"}"#).status == .ok)
        #expect(try await self.fixture.requestRegistration(handle: second) == id)
    }

    @Test func handlesThatAreNotHexadecimalAreComparedWithTheirCase() async throws {
        let id = try await self.fixture.requestRegistration(handle: "a:B")
        #expect(try await self.put(id, #"{"Platform":"fcm","Handle":"a:B"}"#).status == .ok)
        #expect(try await self.fixture.requestRegistration(handle: "A:b") != id)
    }

    @Test func aHandleInTheQueryIsPercentDecoded() async throws {
        let handle = "https://wns.example/?token=a%2b"
        let id = try await self.fixture.requestRegistration()
        #expect(try await self.put(id, #"{"Platform":"wns","Handle":"\#(handle)"}"#).status == .ok)
        let encoded = "https%3A%2F%2Fwns.example%2F%3Ftoken%3Da%252b"
        // The server refuses encoded slashes and double encodings only in a path, and not in a
        // query.
        #expect(try await self.fixture.requestRegistration(handle: encoded) == id)
    }

    @Test func aRequestLeavesOneOfTwoRegistrationsForOneHandle() async throws {
        for (id, platform) in [("one", "apns"), ("two", "fcm")] {
            #expect(try await self.put(id, #"{"Platform":"\#(platform)","Handle":"aa"}"#).status == .ok)
        }
        #expect(try await self.devices().count == 2)
        let id = try await self.fixture.requestRegistration(handle: "AA")
        #expect(try await self.devices().map { $0["Id"]?.text } == [id])
    }

    @Test(arguments: ["", "%20", "a%20b", "a+b", "%C3%A4", "%00", "%0A", String(repeating: "a", count: 4097)])
    func anInvalidHandleInTheQueryIsRefused(handle: String) async throws {
        try await self.fixture.send(.post, "/api/register?handle=\(handle)").expectProblem(.invalidParameter, "handle")
    }

    @Test(arguments: ["handle=a&handle=b", "handle=%FF", "x=%C3"])
    func aMalformedQueryIsRefused(query: String) async throws {
        try await self.fixture.send(.post, "/api/register?\(query)").expectProblem(.invalidParameter)
    }

    @Test(arguments: ["?", "?x=1", "?handle=aa&x", "?&&handle=aa"])
    func unknownParametersAreIgnored(query: String) async throws {
        #expect(try await self.fixture.send(.post, "/api/register\(query)").status == .ok)
    }

    // MARK: A registration

    @Test(arguments: [
        #"{"Platform":"apns","Handle":"aa","Tags":["news"]}"#, #"{"platform":"apns","handle":"aa","tags":["news"]}"#,
        #"{"PLATFORM":"apns","HANDLE":"AA","TAGS":["NEWS"]}"#,
        #"{"Tags":["news","News"],"extra":{"a":[1]},"Handle":"aa","Platform":"apns"}"#,
        #"{"Platform":"x","Platform":"apns","Handle":"aa","Tags":null,"tags":["news"]}"#,
    ])
    func memberNamesAreReadInAnyCaseAndUnknownOnesAreIgnored(body: String) async throws {
        let response = try await self.put("one", body)
        #expect(response.status.code == 200)
        #expect(response.body.isEmpty)
        #expect(response.fields[.cacheControl] == "no-store")
        let device = try #require(try await self.devices().first)
        #expect(device["Tags"] == .array([.string("news"), .string("username:alice")]))
    }

    @Test(arguments: [#"{"Platform":"apns","Handle":"aa"}"#, #"{"Platform":"apns","Handle":"aa","Tags":[]}"#])
    func aRegistrationNeedsNoTags(body: String) async throws {
        #expect(try await self.put("one", body).status == .ok)
        #expect(try await self.devices().first?["Tags"] == .array([.string("username:alice")]))
    }

    @Test func theOldNameOfAPlatformIsTheSamePlatform() async throws {
        #expect(try await self.put("one", #"{"Platform":"gcm","Handle":"a:b"}"#).status == .ok)
        #expect(try await self.devices().first?["Platform"] == .string("fcm"))
    }

    @Test func aRegistrationAgainReplacesEverything() async throws {
        #expect(try await self.put("one", #"{"Platform":"apns","Handle":"aa","Tags":["old"]}"#).status == .ok)
        #expect(try await self.put("one", #"{"Platform":"fcm","Handle":"b:b","Tags":["new"]}"#).status == .ok)
        let devices = try await self.devices()
        let device = try #require(devices.first)
        #expect(devices.count == 1)
        #expect(device["Platform"] == .string("fcm"))
        #expect(device["Tags"] == .array([.string("new"), .string("username:alice")]))
    }

    // MARK: The list

    @Test func theListShowsADeviceWithItsHandleMasked() async throws {
        let handle = "0123456789abcdef0123456789abcdef"
        #expect(try await self.put("one", #"{"Platform":"apns","Handle":"\#(handle)"}"#).status == .ok)
        let response = try await self.fixture.send(.get, Paths.register)
        let time = self.fixture.clock.now.rfc3339
        #expect(
            response.text == #"[{"Id":"one","App":"default","Platform":"apns","Environment":"production","#
                + #""Handle":"0123…cdef","Tags":["username:alice"],"#
                + #""Shared":false,"CreatedAt":"\#(time)","LastPush":null,"Key":null}]"#
        )
        #expect(response.fields[.cacheControl] == "no-store")
    }

    @Test(arguments: ["a", "aa", "0123456789ab"])
    func aShortHandleIsFullyMasked(handle: String) async throws {
        #expect(try await self.put("one", #"{"Platform":"apns","Handle":"\#(handle)"}"#).status == .ok)
        #expect(try await self.devices().first?["Handle"] == .string("…"))
    }

    @Test func theListHoldsTheCallersRegisteredDevices() async throws {
        #expect(try await self.fixture.send(.get, Paths.register).text == "[]")
        _ = try await self.fixture.requestRegistration()
        #expect(try await self.put("one", #"{"Platform":"apns","Handle":"aa"}"#).status == .ok)
        #expect(try await self.put("two", #"{"Platform":"apns","Handle":"bb"}"#, user: "bob").status == .ok)
        #expect(try await self.devices().map { $0["Id"]?.text } == ["one"])
        #expect(try await self.devices(user: "bob").map { $0["Id"]?.text } == ["two"])
    }

    @Test func theListShowsTheLastAcceptedPush() async throws {
        #expect(try await self.put("one", #"{"Platform":"apns","Handle":"aa"}"#).status == .ok)
        _ = try await self.fixture.post(#"{"Payload":1}"#, user: "alice")
        let (store, now) = (self.fixture.storage.store, self.fixture.clock.now)
        let leased = try await self.fixture.storage.lease()
        try await store.settle([(#require(leased.first), .accepted(providerID: nil))], now: now + 5)
        #expect(try await self.devices().first?["LastPush"] == .string((now + 5).rfc3339))
    }
}
