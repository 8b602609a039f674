import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// `GET` and `PUT /api/users/{name}/tags`, and which tags devices may give themselves.
@Suite(.timeLimit(.minutes(5))) struct UserTagTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    @discardableResult
    private func give(_ body: String, to user: String = "bob", by giver: String = "paul") async throws -> Response {
        try await self.fixture.send(.put, Paths.userTags(user), user: giver, body: body)
    }

    private func register(_ tags: String, on fixture: ServerFixture) async throws -> Response {
        let id = try await fixture.requestRegistration()
        let body = #"{"Platform":"apns","Handle":"a1","Tags":\#(tags)}"#
        return try await fixture.send(.put, Paths.registration(id), body: body)
    }

    @Test(arguments: ["paul", "ada"])
    func publishersAndAdministratorsGiveUsersTags(giver: String) async throws {
        #expect(try await self.give(#"{"Tags":["role:nurse","Board"]}"#, to: "Bob", by: giver).status == .noContent)
        let shown = try await self.fixture.send(.get, Paths.userTags("bob"), user: giver)
        #expect(shown.text == #"{"Tags":["board","role:nurse"]}"#)
        #expect(shown.fields[.cacheControl] == "no-store")
        let path = try await self.fixture.post(#"{"Payload":"x","To":["role:nurse"]}"#)
        #expect(try await self.fixture.send(.get, path, user: "bob").status == .ok, "without any device")
        #expect(try await self.fixture.send(.get, path).status == .notFound)
    }

    /// If devices could give themselves reserved tags, anybody with an account could receive
    /// notifications for `role:nurse`.
    @Test func aDeviceCannotGiveItselfReservedTags() async throws {
        let refused = try await self.register(#"["news","Role:Nurse"]"#, on: self.fixture)
        try refused.expectProblem(.invalidMember, "Tags has a reserved element: role:nurse")
        let path = try await self.fixture.post(#"{"Payload":"x","To":["role:nurse"]}"#)
        #expect(try await self.fixture.send(.get, path).status == .notFound)
    }

    @Test func closedTagsAreRefusedFromDevices() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.tags, TagPolicy(isOpen: false)))
        let refused = try await self.register(#"["news"]"#, on: fixture)
        try refused.expectProblem(.invalidMember, "Tags must be empty: on this server only")
        for none in ["[]", "null"] { #expect(try await self.register(none, on: fixture).status == .ok) }
    }

    @Test(arguments: [
        ("{}", ProblemCode.invalidMember, "Tags is missing"), (#"{"Tags":null}"#, .invalidMember, "Tags is missing"),
        ("[]", .invalidJSON, "not an object"), ("", .invalidJSON, ""),
        (#"{"Tags":"board"}"#, .invalidMember, "Tags must be an array of strings"),
        (#"{"Tags":["a b"]}"#, .invalidMember, "not 1 to 120 characters"),
        (#"{"Tags":["username:alice"]}"#, .invalidMember, "only the server may assign: username:alice"),
        (#"{"Tags":["From:alice"]}"#, .invalidMember, "only the server may assign: from:alice"),
    ])
    func anInvalidBodyIsRefusedWithTheReason(body: String, code: ProblemCode, detail: String) async throws {
        try await self.give(#"{"Tags":["board"]}"#)
        try await self.give(body).expectProblem(code, detail)
        #expect(try await self.fixture.send(.get, Paths.userTags("bob"), user: "ada").text == #"{"Tags":["board"]}"#)
    }

    @Test func aUserMayHaveAtMostSixtyTags() async throws {
        let tags = { (count: Int) in (0..<count).map { "\"t\($0)\"" }.joined(separator: ",") }
        #expect(try await self.give(#"{"Tags":[\#(tags(60))]}"#).status == .noContent)
        try await self.give(#"{"Tags":[\#(tags(61))]}"#).expectProblem(.invalidMember, "more than 60 elements")
    }

    @Test(arguments: ["nobody", "no%20name", "current"])
    func anUnknownUserHasNoTags(name: String) async throws {
        try await self.give(#"{"Tags":["board"]}"#, to: name).expectProblem(.notFound)
        try await self.fixture.send(.get, Paths.userTags(name), user: "ada").expectProblem(.notFound)
    }

    @Test func theAuditShowsTheChangedTags() async throws {
        for tags in [#"["board","crew"]"#, #"["crew","night"]"#, #"["crew","night"]"#, "[]"] {
            try await self.give(#"{"Tags":\#(tags)}"#)
        }
        let audit = try await self.fixture.send(.get, Paths.audit, user: "ada").json["Entries"]
        guard case .array(let entries)? = audit else {
            Issue.record("no entries")
            return
        }
        let details = entries.filter { $0["Action"]?.text == "user.tags" }.compactMap { $0["Detail"]?.text }
        let expected = ["added board, crew", "added night; removed board", "unchanged", "removed crew, night"]
        #expect(Set(details) == Set(expected))
        #expect(details.count == 4)
    }
}
