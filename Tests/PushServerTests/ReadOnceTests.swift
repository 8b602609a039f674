import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Read-once payloads: the first fetch leases the payload for a minute. A POST to the path `taken`
/// confirms the fetch and ends the lease at once.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct ReadOnceTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func post(to users: String..., and rest: String = "") async throws -> String {
        let names = users.map { "\"username:\($0)\"" }.joined(separator: ",")
        return try await self.fixture.post(#"{"Payload":"treasure","To":[\#(names)],"ReadOnce":true\#(rest)}"#)
    }

    private func get(_ path: String, _ user: String = "alice") async throws -> Response {
        try await self.fixture.send(.get, path, user: user)
    }

    private func confirm(_ path: String, _ user: String = "alice") async throws -> Response {
        try await self.fixture.send(.post, "\(path)/taken", user: user)
    }

    /// Ends the leases whose time is over. In a running server, a background task does this.
    private func endLeases() async throws {
        _ = try await self.fixture.storage.store.endLeases(now: self.fixture.clock.now, limit: 100)
    }

    private func actions() async throws -> [AuditRecord.Action] {
        try await self.fixture.storage.reader.auditEntries(before: nil, limit: 100).reversed()
            .compactMap { AuditRecord.Action(rawValue: $0.action) }
    }

    // MARK: The lease

    /// A recipient may need the answer again, because the first was lost in transit. A proxy, too,
    /// may repeat a request.
    @Test func aRepeatedFetchWithinAMinuteGetsTheSameAnswer() async throws {
        let path = try await self.post(to: "alice")
        let first = try await self.get(path)
        #expect(try first.json["Payload"] == .string("treasure"))
        for step in [0, 30, 29.999] {
            self.fixture.clock.advance(by: step)
            let again = try await self.get(path)
            #expect(again.body == first.body)
            #expect(again.fields[.eTag] == first.fields[.eTag])
            #expect(again.fields[.cacheControl] == "no-store")
        }
        self.fixture.clock.advance(by: 0.001)
        for method in [HTTPRequest.Method.get, .head] {
            try await self.fixture.send(method, path).expectProblem(.notFound)
        }
        try await self.endLeases()
        try await self.get(path).expectProblem(.notFound)
        #expect(try await self.actions() == [.send, .take], "given once, as far as the audit goes")
    }

    @Test func concurrentFetchesBeginOneLease() async throws {
        let path = try await self.post(to: "alice")
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await self.get(path).status.code } }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [200: 20])
        #expect(try await self.actions() == [.send, .take])
    }

    @Test func headBeginsNoLease() async throws {
        let path = try await self.post(to: "alice")
        for _ in 0..<3 {
            #expect(try await self.fixture.send(.head, path).status == .ok)
            self.fixture.clock.advance(by: 61)
            try await self.endLeases()
        }
        #expect(try await self.get(path).status == .ok)
    }

    @Test func aFailedPreconditionBeginsNoLease() async throws {
        let path = try await self.post(to: "alice")
        try await self.fixture.send(.get, path, headers: [("If-Match", "\"other\"")]).expectProblem(.preconditionFailed)
        self.fixture.clock.advance(by: 61)
        try await self.endLeases()
        #expect(try await self.get(path).status == .ok)
    }

    @Test func aReadOnceFetchIgnoresIfNoneMatch() async throws {
        let path = try await self.post(to: "alice")
        let response = try await self.fixture.send(.get, path, headers: [("If-None-Match", "*")])
        #expect(try response.json["Payload"] == .string("treasure"))
    }

    @Test func markingAndListingBeginNoLease() async throws {
        let path = try await self.post(to: "alice")
        try await self.fixture.send(.patch, path, body: #"{"Read":true}"#)
        try await self.fixture.send(.get, Paths.notifications)
        self.fixture.clock.advance(by: 61)
        try await self.endLeases()
        #expect(try await self.get(path).status == .ok)
    }

    @Test func eachRecipientHasItsOwnLease() async throws {
        let path = try await self.post(to: "alice", "bob")
        #expect(try await self.get(path).status == .ok)
        self.fixture.clock.advance(by: 59)
        #expect(try await self.get(path, "bob").status == .ok)
        self.fixture.clock.advance(by: 1)
        try await self.endLeases()
        try await self.get(path).expectProblem(.notFound)
        #expect(try await self.get(path, "bob").status == .ok)
        self.fixture.clock.advance(by: 59)
        for user in ["alice", "bob", "paul"] { try await self.get(path, user).expectProblem(.notFound) }
    }

    @Test func onlyTheRecipientGetsThePayload() async throws {
        let path = try await self.post(to: "alice")
        for _ in 0..<2 {
            for user in ["paul", "bob", "ada"] { try await self.get(path, user).expectProblem(.notFound) }
            #expect(try await self.get(path).status == .ok)
        }
    }

    // MARK: Taking

    @Test func aConfirmedPayloadIsGoneAndMayBeConfirmedAgain() async throws {
        let path = try await self.post(to: "alice", "bob")
        #expect(try await self.get(path).status == .ok)
        for _ in 0..<2 {
            let response = try await self.confirm(path)
            #expect(response.status == .noContent)
            #expect(response.fields[.cacheControl] == "no-store")
            try await self.get(path).expectProblem(.notFound)
        }
        #expect(try await self.get(path, "bob").status == .ok)
        #expect(try await self.confirm(path, "bob").status == .noContent)
        #expect(try await self.confirm(path).status == .noContent, "erased for all, and still no error")
        #expect(try await self.actions() == [.send, .take, .confirm, .take, .confirm])
    }

    @Test func aConfirmationAfterTheLeaseSucceeds() async throws {
        let path = try await self.post(to: "alice")
        #expect(try await self.get(path).status == .ok)
        self.fixture.clock.advance(by: 60)
        try await self.endLeases()
        #expect(try await self.confirm(path).status == .noContent)
        #expect(try await self.actions() == [.send, .take])
    }

    @Test func foreignAndMissingConfirmationsGetTheSameAnswer() async throws {
        let path = try await self.post(to: "alice")
        #expect(try await self.get(path).status == .ok)
        let id = [("X-Request-Id", "same")]
        // Nobody but the recipient can confirm, not even the sender or an administrator.
        for user in ["bob", "paul", "ada"] {
            let foreign = try await self.fixture.send(.post, "\(path)/taken", user: user, headers: id)
            let missing = try await self.fixture.send(.post, Paths.taken(1), user: user, headers: id)
            try foreign.expectProblem(.notFound)
            #expect(foreign.body == missing.body)
            #expect(foreign.fields == missing.fields)
        }
        #expect(try await self.get(path).status == .ok, "nothing was taken")
    }

    @Test func anUnfetchedPayloadCannotBeConfirmed() async throws {
        let path = try await self.post(to: "alice")
        try await self.fixture.send(.head, path)
        try await self.confirm(path).expectProblem(.nothingToConfirm, "not been fetched")
        #expect(try await self.get(path).status == .ok)
    }

    @Test func anOrdinaryNotificationCannotBeConfirmed() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        #expect(try await self.get(path).status == .ok)
        try await self.confirm(path).expectProblem(.nothingToConfirm, "without ReadOnce")
        #expect(try await self.get(path).status == .ok)
        #expect(try await self.actions() == [.send])
    }

    // MARK: The view of others during a lease

    @Test(arguments: [true, false]) func aListChangesWhenALeaseEndsNotWhenItBegins(isConfirmed: Bool) async throws {
        let path = try await self.post(to: "alice")
        let id = try #require(path.split(separator: "/").last.flatMap { Int($0) })
        let list = try await self.fixture.send(.get, Paths.notifications)
        let cursor = try list.listed.cursor
        #expect(try await self.get(path).status == .ok)
        #expect(try await self.fixture.send(.get, Paths.notifications).body == list.body)
        let since = "\(Paths.notifications)?since=\(cursor)"
        let unchanged = try await self.fixture.send(.get, since, headers: [("If-None-Match", "\"\(cursor)\"")])
        #expect(unchanged.status == .notModified)
        if isConfirmed {
            #expect(try await self.confirm(path).status == .noContent)
        } else {
            self.fixture.clock.advance(by: 60)
            try await self.endLeases()
        }
        let page = try await self.fixture.send(.get, since).listed
        #expect(page.items == [])
        #expect(page.deleted == [id])
        #expect(try await self.fixture.send(.get, Paths.notifications).listed.items == [])
    }

    @Test func theSenderSeesFetchesAndCancelledPushes() async throws {
        let alice = try await self.fixture.storage.user("alice")
        for number in 0..<2 { try await self.fixture.storage.addDevice(of: alice, handle: "h-\(number)") }
        let path = try await self.post(to: "alice")
        for delivery in try await self.fixture.storage.lease(limit: 1) {
            try await self.fixture.storage.settle(delivery, as: .accepted(providerID: nil))
        }
        func counts() async throws -> [Int?] {
            let report = try await self.fixture.send(.get, "\(path)/deliveries", user: "paul").json["Counts"]
            return ["accepted", "fetched", "queued", "cancelled"].map { report?[$0]?.integer }
        }
        #expect(try await counts() == [1, 0, 1, 0])
        #expect(try await self.get(path).status == .ok)
        #expect(try await counts() == [0, 1, 1, 0])
        #expect(try await self.confirm(path).status == .noContent)
        #expect(try await counts() == [0, 1, 0, 1])
    }

    // MARK: Changes during a lease

    @Test func aRecallDuringALeaseRemovesThePayloadAtOnce() async throws {
        let path = try await self.post(to: "alice")
        #expect(try await self.get(path).status == .ok)
        #expect(try await self.fixture.send(.delete, path, user: "paul").status == .noContent)
        try await self.get(path).expectProblem(.notFound)
        try await self.confirm(path).expectProblem(.notFound)
        self.fixture.clock.advance(by: 60)
        try await self.endLeases()
    }

    @Test func aDismissalDuringALeaseConfirmsThePayload() async throws {
        let path = try await self.post(to: "alice", "bob")
        #expect(try await self.get(path).status == .ok)
        #expect(try await self.fixture.send(.delete, path).status == .noContent)
        try await self.get(path).expectProblem(.notFound)
        #expect(try await self.confirm(path).status == .noContent)
        #expect(try await self.fixture.send(.delete, path, user: "bob").status == .noContent)
        try await self.confirm(path, "bob").expectProblem(.notFound)
    }

    @Test func anExpiryDuringALeaseRemovesThePayloadAtOnce() async throws {
        let path = try await self.post(to: "alice", and: #","ExpiresIn":10"#)
        #expect(try await self.get(path).status == .ok)
        self.fixture.clock.advance(by: 10)
        try await self.get(path).expectProblem(.notFound)
        try await self.confirm(path).expectProblem(.notFound)
    }

    @Test func aUserDisabledDuringALeaseIsRefused() async throws {
        let path = try await self.post(to: "alice")
        #expect(try await self.get(path).status == .ok)
        try await self.fixture.send(.patch, Paths.user("alice"), user: "ada", body: #"{"Disabled":true}"#)
        try await self.get(path).expectProblem(.unauthorized)
        try await self.confirm(path).expectProblem(.unauthorized)
    }
}
