import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct AuditTests {
    /// The audit actions of each route that changes stored data; `nil` if the audit records
    /// nothing for the route.
    private static let actions: [String: [AuditRecord.Action]?] = [
        "POST /api/register": nil, "PUT /api/register/{id}": [.registerDevice, .claimDevice, .moveDevice],
        "POST /api/register/{id}/confirmation": [.registerDevice, .moveDevice],
        "DELETE /api/register/{id}": [.unregisterDevice], "POST /api/notifications": [.send],
        "POST /api/notifications/batch": [.send], "POST /api/notifications/{id}/taken": [.confirm],
        "PATCH /api/notifications/{id}": nil, "POST /api/notifications/read": nil,
        "DELETE /api/notifications/{id}": [.dismiss, .recall], "POST /api/devices/{id}/test": [.testDevice],
        "DELETE /api/devices/{id}": [.unregisterDevice],
        "PUT /api/devices/{id}/topics/{topic}": [.registerDevice],
        "DELETE /api/devices/{id}/topics/{topic}": [.registerDevice],
        "PUT /api/devices/{id}/key": [.registerDevice],
        "DELETE /api/notifications/{id}/deliveries/{device}": [.cancelPush],
        "POST /api/notifications/{id}/deliveries/{device}": [.retryPush],
        "POST /api/sessions": [.beginSession], "POST /api/lanes/retry": nil,
        "POST /api/setup": [.addUser], "DELETE /api/sessions/current": [.revokeToken, .unregisterDevice],
        "POST /api/tokens": [.addToken], "DELETE /api/tokens/{id}": [.revokeToken, .unregisterDevice],
        "POST /api/users": [.addUser], "PATCH /api/users/{id}": [.changeUser, .unregisterDevice],
        "DELETE /api/users/{id}": [.deleteUser],
        "POST /api/users/{id}/enrolment": [.enrol], "POST /api/enrolment": [.beginSession],
        "PUT /api/users/current/password": [.changeUser, .unregisterDevice], "PUT /api/users/{id}/tags": [.setTags],
    ]

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func entries() async throws -> [AuditEntry] {
        try await self.fixture.storage.reader.auditEntries(before: nil, limit: 1000).reversed()
    }

    private func lines() async throws -> [String] {
        try await self.entries().map { "\($0.actor) \($0.action) \($0.subject) \($0.detail)" }
    }

    @Test func theOperatorsPageNamesAllActions() throws {
        let text = try Repository.text(of: "docs/operate/log-and-audit.md")
        for action in AuditRecord.Action.allCases { #expect(text.contains("`\(action.rawValue)`"), "\(action)") }
    }

    @Test func everyRouteThatChangesSomethingIsInTheTableAbove() {
        let routes = ServerFixture.routes.filter { $0.method != .get }
        #expect(Set(routes.map { "\($0.method.rawValue) \($0.path)" }) == Set(Self.actions.keys))
        // No route in the table has these actions. `take` belongs to a GET, which the table leaves
        // out. The other actions are those of operators' commands.
        let others: [AuditRecord.Action] = [
            .take, .exportUser, .changeKeys, .rotateKeys, .removeKey, .backUp, .acceptClock,
        ]
        let actions = Set(Self.actions.values.flatMap { $0 ?? [] } + others)
        #expect(actions == Set(AuditRecord.Action.allCases))
    }

    @Test func changesOfNotificationsAreRecorded() async throws {
        let fixture = self.fixture
        let once = try await fixture.post(#"{"Payload":"canary","To":["username:bob"],"ReadOnce":true}"#)
        let recalled = try await fixture.post(#"{"Payload":"canary","To":["username:bob"]}"#)
        let dismissed = try await fixture.post(#"{"Payload":"canary","To":["username:bob"]}"#)
        for _ in 0..<2 { try await fixture.send(.get, once, user: "bob") }
        for _ in 0..<2 { try await fixture.send(.post, "\(once)/taken", user: "bob") }
        for _ in 0..<2 { try await fixture.send(.delete, recalled, user: "paul") }
        for _ in 0..<2 { try await fixture.send(.delete, dismissed, user: "bob") }
        let ids = [once, recalled, dismissed].map { $0.split(separator: "/").last ?? "" }
        #expect(
            try await self.lines() == [
                "paul notification.send \(ids[0]) ", "paul notification.send \(ids[1]) ",
                "paul notification.send \(ids[2]) ", "bob notification.take \(ids[0]) ",
                "bob notification.confirm \(ids[0]) ", "paul notification.recall \(ids[1]) ",
                "bob notification.dismiss \(ids[2]) ",
            ]
        )
    }

    @Test func anEntryHasTheRequestIDOfTheAnswer() async throws {
        for headers in [[], [("X-Request-Id", "of-the-client")]] {
            let response = try await self.fixture.send(.post, "/api/notifications", headers: headers, body: #""hello""#)
            let id = try #require(response.fields[.requestID])
            #expect(try await self.entries().last?.request == id)
        }
    }

    @Test func changesOfDevicesAreRecorded() async throws {
        let fixture = self.fixture
        let id = try await fixture.requestRegistration()
        let body = #"{"Platform":"apns","Handle":"00ff"}"#
        try await fixture.send(.put, "/api/register/\(id)", body: body)
        try await fixture.send(.put, "/api/register/\(id)", user: "bob", body: body).expectProblem(.registrationGone)
        try await fixture.send(.delete, "/api/register/\(id)", user: "bob")
        for _ in 0..<2 { try await fixture.send(.delete, "/api/register/\(id)") }
        #expect(try await self.lines() == ["alice device.register \(id) apns", "alice device.unregister \(id) "])
    }

    @Test func aDeviceEndedWithItsSessionIsRecordedWithTheActor() async throws {
        let fixture = self.fixture
        let token = try #require(try await fixture.send(.post, "/api/sessions").json["Token"]?.text)
        let id = try await fixture.requestRegistration()
        let bearer = [("Authorization", "Bearer \(token)")]
        let body = #"{"Platform":"apns","Handle":"00ff"}"#
        try await fixture.send(.put, "/api/register/\(id)", user: nil, headers: bearer, body: body)
        try await fixture.send(.delete, "/api/tokens/\(token.prefix(12))", user: "ada")
        let lines = try await self.lines().suffix(2)
        #expect(lines.first == "ada device.unregister \(id) with its session")
        #expect(lines.last?.hasPrefix("ada token.revoke \(token.prefix(12)) token ") == true, "\(lines)")
    }

    @Test func anAdministratorsUnregistrationIsRecordedWithTheUser() async throws {
        let id = try await self.fixture.requestRegistration(user: "Alice")
        for _ in 0..<2 { try await self.fixture.send(.delete, "/api/devices/\(id)", user: "ada") }
        #expect(try await self.lines() == ["ada device.unregister \(id) of alice"])
    }

    @Test func aMovedDeviceIsRecordedWithItsFormerUser() async throws {
        let fixture = self.fixture
        let (old, new) = (
            try await fixture.requestRegistration(), try await fixture.requestRegistration(user: "bob")
        )
        let body = #"{"Platform":"apns","Handle":"00ff"}"#
        try await fixture.send(.put, "/api/register/\(old)", body: body)
        try await fixture.send(.put, "/api/register/\(new)", user: "bob", body: body)
        #expect(
            try await self.lines() == [
                "alice device.register \(old) apns", "bob device.move \(old) apns, from alice",
                "bob device.register \(new) apns",
            ]
        )
    }

    @Test func changesOfUsersAndTokensAreRecorded() async throws {
        let fixture = self.fixture
        let password = #""Password":"long enough for all""#
        try await fixture.send(.post, "/api/users", user: "ada", body: #"{"Name":"Carol",\#(password)}"#)
        try await fixture.send(.post, "/api/users", user: "ada", body: #"{"Name":"carol",\#(password)}"#)
        try await fixture.send(.patch, "/api/users/carol", user: "ada", body: #"{"Role":"admin",\#(password)}"#)
        let made = try await fixture.send(.post, "/api/tokens", user: "ada", body: #"{"User":"Carol"}"#).json
        let prefix = try #require(made["Prefix"]?.text.flatMap { TokenPrefix($0) })
        try await fixture.send(.delete, "/api/tokens/\(prefix)", user: "ada")
        try await fixture.send(.delete, "/api/users/CAROL", user: "ada")
        try await fixture.send(.delete, "/api/users/carol", user: "ada")
        let name = fixture.storage.reader.auditName(of: prefix)
        #expect(
            try await self.lines() == [
                "ada user.add Carol device", "ada user.change carol role admin, password",
                "ada token.add Carol token \(name), scopes fetch send register, until 2027-04-15T08:00:00Z",
                "ada token.revoke \(prefix) token \(name)",
                "ada user.delete CAROL ",
            ]
        )
    }

    @Test func theCallersTokenIsRecordedByItsHashOnly() async throws {
        let session = try await self.fixture.send(.post, "/api/sessions").json
        let token = try #require(session["Token"]?.text.flatMap { BearerToken($0) })
        let headers = [("Authorization", "Bearer \(token.text.exposed)"), ("X-Request-Id", "seven")]
        try await self.fixture.send(.delete, "/api/sessions/current", user: nil, headers: headers)
        let entries = try await self.entries()
        #expect(entries.map(\.action) == ["session.begin", "token.revoke"])
        #expect(entries.map(\.token) == ["", self.fixture.storage.reader.auditName(of: token.prefix)])
        #expect(entries.map(\.client) == ["unknown", "unknown"])
        #expect(entries.last?.request == "seven")
    }

    @Test func administratorsListTheAuditNewestFirst() async throws {
        for _ in 0..<3 { _ = try await self.fixture.post(#"{"Payload":1}"#) }
        let first = try await self.fixture.send(.get, "/api/audit?limit=2", user: "ada")
        #expect(try first.json["More"] == .bool(true))
        guard case .array(let page)? = try first.json["Entries"] else { throw StoreFixture.Missing("no entries") }
        #expect(page.compactMap { $0["Number"] } == [.number(3), .number(2)])
        #expect(page.first?["At"] == .string("2027-01-15T08:00:00Z"))
        let second = try await self.fixture.send(.get, "/api/audit?before=2", user: "ada").json
        guard case .array(let rest)? = second["Entries"] else { throw StoreFixture.Missing("no entries") }
        #expect(rest.compactMap { $0["Number"] } == [.number(1)])
        #expect(second["More"] == .bool(false))
        for query in ["limit=0", "limit=501", "limit=x", "before=0", "before=x"] {
            try await self.fixture.send(.get, "/api/audit?\(query)", user: "ada").expectProblem(.invalidParameter)
        }
    }

    @Test func administratorsSearchTheAuditForWordsAndActions() async throws {
        for name in ["Carol", "dora", "Caroline"] {
            let body = #"{"Name":"\#(name)","WithoutPassword":true}"#
            try await self.fixture.send(.post, Paths.users, user: "ada", body: body)
            _ = try await self.fixture.post(#"{"Payload":1}"#)
        }
        func found(_ query: String) async throws -> JSONValue {
            try await self.fixture.send(.get, "/api/audit?\(query)", user: "ada").json
        }
        func subjects(_ answer: JSONValue) -> [String?] {
            guard case .array(let entries)? = answer["Entries"] else { return [] }
            return entries.map { $0["Subject"]?.text }
        }
        #expect(try await subjects(found("words=carol+ADA")) == ["Caroline", "Carol"])
        #expect(try await subjects(found("action=user")) == ["Caroline", "dora", "Carol"])
        #expect(try await subjects(found("action=notification.send")).count == 3)
        let first = try await found("words=carol&limit=1")
        #expect(subjects(first) == ["Caroline"])
        #expect(first["Searched"]?.integer == 2 && first["More"] == .bool(true))
        let cursor = try #require(first["Cursor"]?.text)
        let second = try await found("words=carol&limit=1&cursor=\(cursor)")
        #expect(subjects(second) == ["Carol"])
        #expect(second["Searched"]?.integer == 4 && second["More"] == .bool(false))
        let none = try await found("words=nobody")
        #expect(subjects(none) == [] && none["Cursor"] == .string("1") && none["Searched"]?.integer == 6)
        #expect(try await subjects(found("user=carol")) == ["Carol"])
        #expect(try await subjects(found("user=ada&since=1h")) == ["Caroline", "dora", "Carol"])
        let later = try await found("since=2027-01-15T08:00:01Z")
        #expect(subjects(later) == [] && later["More"] == .bool(false))
        for query in ["words=", "action=users", "action=user&action=user", "user=", "since=7"] {
            try await self.fixture.send(.get, "/api/audit?\(query)", user: "ada").expectProblem(.invalidParameter)
        }
    }
}
