import CivilTime
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Marking notifications as read, one by one and many at once.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct ReadMarkTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func post(_ body: String = #"{"Payload":"x","To":["username:alice","username:bob"]}"#) async throws
        -> String
    {
        try await self.fixture.post(body)
    }

    private func mark(
        _ path: String,
        _ isRead: Bool = true,
        user: String = "alice",
        headers: [(String, String)] = []
    ) async throws -> Response {
        try await self.fixture.send(.patch, path, user: user, headers: headers, body: #"{"Read":\#(isRead)}"#)
    }

    private func isRead(_ path: String, user: String = "alice") async throws -> JSONValue? {
        try await self.fixture.send(.get, path, user: user).json["Read"]
    }

    @Test func aRecipientMarksANotificationReadAndUnread() async throws {
        let path = try await self.post()
        for isRead in [true, true, false, false, true] {
            let response = try await self.mark(path, isRead)
            #expect(response.status == .ok)
            let item = try await self.fixture.send(.get, path)
            #expect(response.body == item.body)
            #expect(response.fields[.eTag] == item.fields[.eTag])
            #expect(try item.json["Read"] == .bool(isRead))
            #expect(try await self.isRead(path, user: "bob") == .bool(false), "the others' are their own")
            #expect(try await self.isRead(path, user: "paul") == .bool(false))
        }
    }

    @Test func marksChangeTheEntityTagAndLastModified() async throws {
        let path = try await self.post()
        let created = self.fixture.clock.now
        var tags: [String?] = []
        for (step, isRead) in [nil, true, false, false].enumerated() {
            self.fixture.clock.advance(by: 10)
            if let isRead { _ = try await self.mark(path, isRead) }
            self.fixture.clock.advance(by: 2)
            let response = try await self.fixture.send(.get, path)
            tags.append(response.fields[.eTag])
            let changed = created + [0, 22, 34, 34][step] + 1
            #expect(response.fields[.lastModified] == HTTPDate(changed).description, "\(step)")
        }
        #expect(tags[0] == tags[2])
        #expect(tags[0] != tags[1])
    }

    @Test(
        arguments: [
            ("", .invalidJSON), ("[]", .invalidJSON), ("{}", .invalidMember), (#"{"Read":null}"#, .invalidMember),
            (#"{"Read":1}"#, .invalidMember), (#"{"Read":"true"}"#, .invalidMember),
        ] as [(String, ProblemCode)]
    )
    func aBodyWithoutAValidReadMemberIsRefused(body: String, code: ProblemCode) async throws {
        let path = try await self.post()
        try await self.fixture.send(.patch, path, body: body).expectProblem(code)
        #expect(try await self.isRead(path) == .bool(false))
    }

    @Test func onlyRecipientsMayMarkANotification() async throws {
        let path = try await self.post(#"{"Payload":1,"To":["username:alice"]}"#)
        try await self.mark(path, user: "paul").expectProblem(.forbidden)
        for user in ["bob", "ada"] {
            let id = [("X-Request-Id", "same")]
            let foreign = try await self.mark(path, user: user, headers: id)
            let missing = try await self.mark(Paths.notification(1), user: user, headers: id)
            try foreign.expectProblem(.notFound)
            #expect(foreign.body == missing.body)
            #expect(foreign.fields == missing.fields)
        }
        _ = try await self.fixture.send(.delete, path)
        try await self.mark(path).expectProblem(.notFound)
    }

    @Test func markingAReadOnceNotificationDoesNotTakeIt() async throws {
        let path = try await self.post(#"{"Payload":"treasure","To":["username:alice"],"ReadOnce":true}"#)
        let response = try await self.mark(path)
        #expect(try response.json["Payload"] == nil)
        #expect(try response.json["Read"] == .bool(true))
        #expect(try response.json["ReadOnce"] == .bool(true))
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(try await self.fixture.send(.get, path).json["Payload"] == .string("treasure"))
    }

    @Test func aMarkRequiresItsPrecondition() async throws {
        let path = try await self.post()
        let tag = try #require(try await self.fixture.send(.get, path).fields[.eTag])
        try await self.mark(path, headers: [("If-Match", "\"other\"")]).expectProblem(.preconditionFailed)
        try await self.mark(path, headers: [("If-None-Match", tag)]).expectProblem(.preconditionFailed)
        try await self.mark(Paths.notification(1), headers: [("If-Match", "*")]).expectProblem(.notFound)
        #expect(try await self.mark(path, headers: [("If-Match", tag)]).status == .ok)
        try await self.mark(path, headers: [("If-Match", tag)]).expectProblem(.preconditionFailed)
        #expect(try await self.mark(path, false, headers: [("If-Match", "*")]).status == .ok)
    }

    @Test func aReadOnceFetchRequiresItsPrecondition() async throws {
        let path = try await self.post(#"{"Payload":"treasure","To":["username:alice"],"ReadOnce":true}"#)
        let tag = try #require(try await self.fixture.send(.head, path).fields[.eTag])
        try await self.fixture.send(.get, path, headers: [("If-Match", "\"other\"")]).expectProblem(.preconditionFailed)
        for _ in 0..<2 { #expect(try await self.fixture.send(.get, path, headers: [("If-Match", tag)]).status == .ok) }
        try await self.fixture.send(.get, path, headers: [("If-Match", "\"other\"")]).expectProblem(.preconditionFailed)
        #expect(try await self.fixture.send(.post, "\(path)/taken").status == .noContent)
        try await self.fixture.send(.get, path, headers: [("If-Match", tag)]).expectProblem(.notFound)
    }

    @Test func onlyARealChangeMovesTheCursor() async throws {
        let path = try await self.post()
        func cursor(_ user: String) async throws -> String {
            try await self.fixture.send(.get, Paths.notifications, user: user).listed.cursor
        }
        let (alice, bob) = (try await cursor("alice"), try await cursor("bob"))
        _ = try await self.mark(path, false)
        #expect(try await cursor("alice") == alice)
        _ = try await self.mark(path)
        let marked = try await cursor("alice")
        #expect(marked != alice)
        _ = try await self.mark(path)
        #expect(try await cursor("alice") == marked)
        #expect(try await cursor("bob") == bob)
    }

    // MARK: Many

    private func markAll(_ body: String, user: String = "alice") async throws -> Response {
        try await self.fixture.send(.post, Paths.readNotifications, user: user, body: body)
    }

    @Test func severalNotificationsAreMarkedAndOthersAreLeftOut() async throws {
        var ids: [String] = []
        for _ in 0..<4 { ids.append(String(try await self.post().split(separator: "/").last ?? "")) }
        let foreign = try await self.post(#"{"Payload":1,"To":["username:bob"]}"#).split(separator: "/").last ?? ""
        _ = try await self.fixture.send(.delete, "/api/notifications/\(ids[2])")
        _ = try await self.mark("/api/notifications/\(ids[3])")
        let response = try await self.markAll(#"{"Ids":[\#(ids[1]),\#(foreign),1,\#(ids[2]),\#(ids[3]),\#(ids[1])]}"#)
        #expect(response.status == .ok)
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(response.text == #"{"Read":[\#(ids[1]),\#(ids[3])]}"#)
        #expect(try await self.isRead("/api/notifications/\(ids[0])") == .bool(false))
        #expect(try await self.isRead("/api/notifications/\(ids[1])") == .bool(true))
        #expect(try await self.isRead("/api/notifications/\(foreign)", user: "bob") == .bool(false))
    }

    @Test(arguments: [
        "{}", #"{"Ids":[]}"#, #"{"Ids":7}"#, #"{"Ids":["7"]}"#, #"{"Ids":[1.5]}"#, #"{"Ids":[0]}"#, #"{"Ids":[-1]}"#,
        #"{"Ids":[null]}"#, #"{"Ids":[99999999999999999999]}"#,
    ])
    func invalidIDsAreRefused(body: String) async throws {
        try await self.markAll(body).expectProblem(.invalidMember, "Ids")
    }

    @Test func atMost500IDsMayBeMarkedAtOnce() async throws {
        let ids = (1...500).map(String.init).joined(separator: ",")
        #expect(try await self.markAll(#"{"Ids":[\#(ids)]}"#).text == #"{"Read":[]}"#)
        try await self.markAll(#"{"Ids":[\#(ids),501]}"#).expectProblem(.invalidMember, "500")
    }

    @Test func theSendersReportCountsReadNotifications() async throws {
        for user in ["alice", "bob"] {
            try await self.fixture.storage.addDevice(of: self.fixture.storage.user(user), handle: "handle-\(user)")
        }
        let path = try await self.post()
        for delivery in try await self.fixture.storage.lease() {
            try await self.fixture.storage.settle(delivery, as: .accepted(providerID: nil))
        }
        _ = try await self.mark(path)
        func count(_ state: String) async throws -> Int? {
            try await self.fixture.send(.get, "\(path)/deliveries", user: "paul").json["Counts"]?[state]?.integer
        }
        #expect(try await count("read") == 1)
        #expect(try await count("accepted") == 1)
        _ = try await self.mark(path, false)
        #expect(try await count("read") == 0)
    }
}
