import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Topics that a device joins and leaves one by one.
@Suite(.timeLimit(.minutes(5))) struct TopicTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    /// Registers a device of alice with its own tags.
    private func device(_ fixture: ServerFixture, tags: [String] = ["first"]) async throws -> String {
        try await fixture.storage.addDevice(of: fixture.storage.user("alice"), handle: "aa", tags: tags).description
    }

    private func tags(_ fixture: ServerFixture) async throws -> [String] {
        try await fixture.storage.reader.devices(ofUser: fixture.storage.user("alice").id).flatMap {
            $0.tags.map(\.description)
        }
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ topic: String,
        of device: String,
        user: String = "alice",
        _ fixture: ServerFixture
    ) async throws -> Response {
        try await fixture.send(method, Paths.topic(topic, of: device), user: user)
    }

    @Test func joiningAndLeavingATopicIsIdempotent() async throws {
        let device = try await self.device(self.fixture)
        for _ in 0..<2 {
            let response = try await self.send(.put, "News", of: device, self.fixture)
            #expect(response.status == .noContent)
            #expect(response.body.isEmpty)
            #expect(try await self.tags(self.fixture) == ["first", "news", "username:alice"])
        }
        for _ in 0..<2 {
            #expect(try await self.send(.delete, "news", of: device, self.fixture).status == .noContent)
            #expect(try await self.tags(self.fixture) == ["first", "username:alice"])
        }
    }

    @Test func aTopicReachesItsDevices() async throws {
        let device = try await self.device(self.fixture)
        func pushes() async throws -> Int {
            _ = try await self.fixture.post(#"{"Payload":1,"To":["news"]}"#)
            return try await self.fixture.storage.lease().count
        }
        #expect(try await pushes() == 0)
        _ = try await self.send(.put, "news", of: device, self.fixture)
        #expect(try await pushes() == 1)
        _ = try await self.send(.delete, "news", of: device, self.fixture)
        #expect(try await pushes() == 0)
    }

    /// The topic is a segment of the path, in which characters may be percent-encoded.
    @Test(arguments: [("%23a", "#a"), ("a%3Ab", "a:b"), ("a@b", "a@b"), ("...", "..."), ("%41", "a")])
    func anyTagCanBeATopic(segment: String, tag: String) async throws {
        let device = try await self.device(self.fixture, tags: [])
        #expect(try await self.send(.put, segment, of: device, self.fixture).status == .noContent)
        #expect(try await Set(self.tags(self.fixture)) == [tag, "username:alice"])
    }

    @Test(arguments: ["a%20b", "%C3%A4", "%FF", "a,b", String(repeating: "t", count: 121)])
    func anInvalidTopicIsRefused(segment: String) async throws {
        let device = try await self.device(self.fixture)
        for method in [HTTPRequest.Method.put, .delete] {
            try await self.send(method, segment, of: device, self.fixture).expectProblem(.invalidParameter, "topic")
        }
    }

    @Test(arguments: ["username:bob", "from:x", "Role:nurse"])
    func aReservedTopicCannotBeJoined(topic: String) async throws {
        let device = try await self.device(self.fixture)
        try await self.send(.put, topic, of: device, self.fixture).expectProblem(.invalidParameter, "reserved")
        #expect(try await self.tags(self.fixture) == ["first", "username:alice"])
    }

    @Test func closedTagsCanBeLeftButNotJoined() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.tags, TagPolicy(isOpen: false)))
        let device = try await self.device(fixture)
        try await self.send(.put, "news", of: device, fixture).expectProblem(.invalidParameter, "administrators")
        #expect(try await self.send(.delete, "first", of: device, fixture).status == .noContent)
        #expect(try await self.tags(fixture) == ["username:alice"])
    }

    @Test func theUsersOwnTagStays() async throws {
        let device = try await self.device(self.fixture)
        #expect(try await self.send(.delete, "username:alice", of: device, self.fixture).status == .noContent)
        #expect(try await self.tags(self.fixture) == ["first", "username:alice"])
    }

    @Test func topicsAboveTheLimitAreRefused() async throws {
        let device = try await self.device(self.fixture, tags: (1...59).map { "tag\($0)" })
        #expect(try await self.send(.put, "tag60", of: device, self.fixture).status == .noContent)
        try await self.send(.put, "tag61", of: device, self.fixture).expectProblem(.invalidParameter, "60 topics")
        // The device already has this topic, so joining it adds no tag.
        #expect(try await self.send(.put, "tag60", of: device, self.fixture).status == .noContent)
        #expect(try await self.tags(self.fixture).count == 61)
    }

    @Test func foreignIDsAreGoneAndUnregisteredIDsAreMissing() async throws {
        let device = try await self.device(self.fixture)
        try await self.fixture.issue("issued")
        for method in [HTTPRequest.Method.put, .delete] {
            for id in [device, "never-issued"] {
                try await self.send(method, "news", of: id, user: "bob", self.fixture).expectProblem(.registrationGone)
            }
            try await self.send(method, "news", of: "issued", self.fixture).expectProblem(.notFound)
        }
        #expect(try await self.tags(self.fixture) == ["first", "username:alice"])
    }

    @Test func theAuditHasOnlyRealChanges() async throws {
        let device = try await self.device(self.fixture)
        for _ in 0..<2 { _ = try await self.send(.put, "news", of: device, self.fixture) }
        for _ in 0..<2 { _ = try await self.send(.delete, "news", of: device, self.fixture) }
        let entries = try await self.fixture.storage.reader.auditEntries(before: nil, limit: 10)
        let lines = entries.map { "\($0.actor) \($0.action) \($0.subject) \($0.detail)" }
        #expect(lines == [String](repeating: "alice device.register \(device) apns", count: 2))
    }
}
