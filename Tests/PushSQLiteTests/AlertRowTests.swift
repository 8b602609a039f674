import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The contents of the column `notification.alert`, and when they are erased.
@Suite(.timeLimit(.minutes(5))) struct AlertRowTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private static var alert: PushAlert {
        var alert = PushAlert()
        alert[.bodyKey] = "APPOINTMENT_BODY"
        return alert
    }

    private func column(_ id: Int64) async throws -> Data? {
        try await self.fixture.sqlite.writer.write { db in
            try db.first("select alert from notification where id = ?", id) { row in
                row.isNull(0) ? nil : row.data(0)
            } ?? nil
        }
    }

    @Test func alertColumnIsEncryptedOrNull() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.post(1, from: alice, to: "username:alice")
        try await fixture.post(2, from: alice, to: "username:alice", alert: Self.alert)
        #expect(try await self.column(1) == nil)
        let sealed = try #require(try await self.column(2))
        #expect(sealed.range(of: Data("APPOINTMENT".utf8)) == nil)
    }

    @Test func recallErasesTheAlert() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.post(1, from: alice, to: "username:alice", alert: Self.alert)
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(id, by: .sender(alice.id), now: fixture.now))
        #expect(try await self.column(1) == nil)
    }

    @Test func alertIsErasedWithItsReadOncePayload() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.post(1, from: alice, to: "username:alice", isReadOnce: true, alert: Self.alert)
        let id = try #require(NotificationID(rawValue: 1))
        _ = try await fixture.store.dismiss(id, by: alice.id, now: fixture.now)
        #expect(try await self.column(1) == nil)
    }

    /// If a notification's row contains the alert of another notification, the alert cannot be
    /// decrypted. Then only the pushes of the notification in that row fail, and nobody gets the
    /// alert's text.
    @Test func alertOfAnotherNotificationIsNeverPushed() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "a")
        var other = Self.alert
        other[.bodyKey] = "SECRET_BODY"
        try await fixture.post(1, from: alice, to: "username:alice", alert: Self.alert)
        try await fixture.post(2, from: alice, to: "username:alice", alert: other)
        try await fixture.sqlite.writer.write {
            try $0.execute(
                sql: "update notification set alert = (select alert from notification where id = 2) where id = 1"
            )
        }
        let claimed = try await fixture.lease()
        #expect(claimed.map(\.push.notification.rawValue) == [2])
        #expect(claimed.map(\.push.alert) == [other])
        let entry = try await fixture.reader.deliveries(
            of: try #require(NotificationID(rawValue: 1)),
            after: 0,
            limit: 1
        )
        #expect(entry.map(\.state) == [.failed])
    }
}
