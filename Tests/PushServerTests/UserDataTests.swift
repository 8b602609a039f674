import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Synchronization
import Testing

@testable import PushServer

/// The document with all data of one user.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct UserDataTests {
    private static let bank = AppName("bank") ?? .usual
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func bytes(_ name: String, apps: Set<AppName> = [.usual]) async throws -> [UInt8] {
        let handler = LocalUserDataHandler(
            store: self.fixture.storage.store,
            reports: self.fixture.reports,
            accounts: self.fixture.authenticator.accounts,
            apps: apps
        )
        let found = try await handler.document(
            about: #require(Username(name)),
            self.fixture.storage.reader,
            now: self.fixture.clock.now
        )
        let bytes = Mutex<[UInt8]>([])
        try await #require(found).write { piece in bytes.withLock { $0 += piece } }
        return bytes.withLock { $0 }
    }

    private func list(_ document: JSONValue, _ member: String) -> [JSONValue] {
        guard case .array(let elements)? = document[member] else { return [] }
        return elements
    }

    /// Gives Alice and Bob a device, a session and notifications each. An administrator gives each
    /// of them a tag.
    private func fill() async throws {
        let fixture = self.fixture
        for name in ["alice", "bob"] {
            let user = try await fixture.storage.user(name)
            try await fixture.storage.addDevice(
                of: user,
                handle: "handle-of-\(name)-0123456789",
                tags: ["topic-\(name)"]
            )
            let tags = try await fixture.send(
                .put,
                Paths.userTags(name),
                user: "ada",
                body: #"{"Tags":["tag-\#(name)"]}"#
            )
            #expect(tags.status == .noContent)
            #expect(try await fixture.send(.post, Paths.sessions, user: name).status == .created)
            _ = try await fixture.post(#"{"Payload":{"Text":"payload-\#(name)\n"},"To":["username:\#(name)"]}"#)
            _ = try await fixture.post(#"{"Payload":"once-\#(name)","To":["username:\#(name)"],"ReadOnce":true}"#)
            _ = try await fixture.post(#"{"Payload":"own-\#(name)"}"#, user: name)
        }
        _ = try await fixture.post(#"{"Payload":"payload-both","To":["username:alice","username:bob"]}"#)
        for delivery in try await fixture.storage.lease() {
            try await fixture.storage.settle(delivery, as: .failed(reason: "BadDeviceToken"))
        }
    }

    @Test func theDocumentHasAllDataOfTheUserAndNoneOfAnother() async throws {
        try await self.fill()
        let bytes = try await self.bytes("ALICE")
        let (text, document) = (String(decoding: bytes, as: UTF8.self), try JSONValue(reading: bytes))
        #expect(document["User"]?["Name"] == .string("alice"))
        #expect(document["User"]?["Tags"] == .array([.string("tag-alice")]))
        #expect(self.list(document, "Tokens").map { $0["Session"] } == [.bool(true)])
        let devices = self.list(document, "Devices")
        #expect(devices.map { $0["Handle"] } == [.string("handle-of-alice-0123456789")])
        let notifications = self.list(document, "Notifications")
        let payloads: [JSONValue?] = [
            .object([.init("Text", .string("payload-alice\n"))]), .null, .string("own-alice"), .string("payload-both"),
        ]
        #expect(notifications.map { $0["Payload"] } == payloads)
        #expect(notifications.map { $0["ReadOnce"] } == [.bool(false), .bool(true), .bool(false), .bool(false)])
        for notification in notifications {
            let pushes = self.list(notification, "Deliveries")
            #expect(
                pushes.map { $0["User"] } == [.string("alice")] && pushes.map { $0["State"] } == [.string("failed")]
            )
        }
        #expect(self.list(document, "Events").count == 4)
        let actions = Set(self.list(document, "Audit").compactMap { $0["Action"]?.text })
        #expect(actions == ["user.tags", "session.begin", "notification.send"])
        for foreign in ["-bob", ":bob", "\"bob\"", "\"ada\"", "\"paul\"", "once-alice"] {
            #expect(!text.contains(foreign), "\(foreign)")
        }
    }

    @Test func theExportUsesUpNoReadOncePayloadAndRecordsNoFetch() async throws {
        try await self.fill()
        let alice = try await self.fixture.storage.user("alice")
        _ = try await self.bytes("alice")
        try await self.fixture.storage.store.writeReceipts()
        let sent = try await self.fixture.storage.reader.latestNotifications(ofUser: alice.id, limit: 10)
        #expect(!sent.isEmpty)
        for notification in sent {
            let entries = try await self.fixture.storage.reader.recipients(of: notification.id, after: 0, limit: 10)
            #expect(entries.allSatisfy { $0.fetchedAt == nil })
        }
    }

    /// The document is made of pages with 50 notifications each. The server has a second app, in
    /// which the user has no notifications.
    @Test func theDocumentHasAllPagesOfAllApps() async throws {
        for number in 0..<120 { _ = try await self.fixture.post(#"{"Payload":\#(number)}"#, user: "alice") }
        let document = try JSONValue(reading: try await self.bytes("alice", apps: [Self.bank, .usual]))
        #expect(self.list(document, "Notifications").map { $0["Payload"]?.integer } == Array(0..<120))
    }

    /// The document contains an administrator's actions on other users, but not the names of these
    /// users.
    @Test func theDocumentOfAnAdministratorNamesNobodyElse() async throws {
        try await self.fill()
        let bytes = try await self.bytes("ada")
        let document = try JSONValue(reading: bytes)
        let audit = self.list(document, "Audit")
        #expect(audit.map { $0["Action"] } == [.string("user.tags"), .string("user.tags")])
        #expect(audit.allSatisfy { $0["Subject"] == .null && $0["Detail"] == .null })
        let text = String(decoding: bytes, as: UTF8.self)
        for foreign in ["alice", "bob"] { #expect(!text.contains("-\(foreign)") && !text.contains("\"\(foreign)\"")) }
    }

    /// An earlier account, of another person, had the same name.
    @Test func theDocumentHasNothingOfAnEarlierAccountOfTheSameName() async throws {
        try await self.fill()
        let fixture = self.fixture
        fixture.clock.advance(by: 60)
        #expect(try await fixture.send(.delete, Paths.user("alice"), user: "ada").status == .noContent)
        fixture.clock.advance(by: 60)
        let body = #"{"Name":"alice","WithoutPassword":true}"#
        #expect(try await fixture.send(.post, Paths.users, user: "ada", body: body).status == .created)
        let document = try JSONValue(reading: try await self.bytes("alice"))
        #expect(self.list(document, "Audit").map { $0["Action"] } == [.string("user.add")])
        for member in ["Tokens", "Devices", "Notifications", "Events"] {
            #expect(self.list(document, member).isEmpty, "\(member)")
        }
    }
}
