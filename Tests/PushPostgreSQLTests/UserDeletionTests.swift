import PostgreSQL
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// The deletion of users.
@Suite(.timeLimit(.minutes(5))) struct UserDeletionTests {
    /// One statement cannot delete all these rows within its time limit if they are many more.
    @Test func aUserWithManyNotificationsIsDeletedInParts() async throws {
        let fixture = try StoreFixture(.postgreSQL)
        let alice = try await fixture.addUser("alice")
        let bob = try await fixture.addUser("bob")
        let connection = try fixture.connect()
        let count = 2 * PostgreSQLStore.receivedAtOnce + 1
        try connection.execute(
            """
            create temporary view n as select n::int8 from generate_series(1, \(count)) as n;
            insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at,
                    expires_at, payload)
                select n, \(bob.id), true, false, 'high', n, 0, 9000, ''::bytea from n;
            insert into recipient (notification_id, user_id, change, changed_at, mac)
                select n, \(alice.id), n, 0, 0 from n;
            insert into recipient (notification_id, user_id, change, changed_at, mac) values (1, \(bob.id), 1, 0, 0)
            """
        )
        #expect(try await fixture.store.deleteUser(alice.name, by: nil) == .done)
        #expect(try connection.query("select user_id from recipient").map { try $0.integer(0) } == [bob.id])
    }
}
