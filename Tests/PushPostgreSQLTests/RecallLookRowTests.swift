import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

/// A recall of a broadcast marks its recipients in several transactions.
@Suite(.timeLimit(.minutes(5))) struct RecallLookRowTests {
    @Test func noLookComesBeforeItsUserCanFindTheRecall() async throws {
        var options = StoreOptions()
        options.looks = ["apns": .seconds(10)]
        let fixture = try StoreFixture(.postgreSQL, options: options)
        var users: [User] = []
        for number in 1...3 {
            users.append(try await fixture.addUser("user\(number)", role: .publisher))
            try await fixture.addDevice(of: users[number - 1], handle: "\(number)", tags: ["all"])
        }
        try await fixture.post(1, from: users[0], to: "all")
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(id, by: .sender(users[0].id), now: fixture.now))
        // As if only the first user was marked yet.
        try fixture.connect().execute("insert into recall (notification_id, user_id) values (1, \(users[0].id))")
        for expected in [1, 2, nil] {
            let count = try await fixture.store.enqueueRecallLooks(
                page: 9,
                makeID: { NotificationID(rawValue: .random(in: 1000..<1 << 31)) },
                now: fixture.now
            )
            #expect(count == expected)
        }
        #expect(try fixture.connect().query("select count(*) from recall")[0].integer(0) == 0)
    }

    /// The transaction may belong to a frozen server. `LookService` must not try again without a
    /// pause.
    @Test func theLooksOfARecallThatAnotherTransactionHasLockedAreLeftForLater() async throws {
        var options = StoreOptions()
        options.looks = ["apns": .seconds(10)]
        let fixture = try StoreFixture(.postgreSQL, options: options)
        let alice = try await fixture.addUser("alice", role: .publisher)
        let bob = try await fixture.addUser("bob")
        for user in [alice, bob] { try await fixture.addDevice(of: user, handle: user.name.description) }
        try await fixture.post(1, from: alice, to: "username:alice", "username:bob")
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(id, by: .sender(alice.id), now: fixture.now))
        let connection = try fixture.connect()
        try connection.execute("insert into recall (notification_id, user_id) values (1, \(alice.id))")
        try connection.execute("begin; update recall set user_id = user_id")
        func enqueue() async throws -> Int? {
            try await fixture.store.enqueueRecallLooks(
                page: 9,
                makeID: { NotificationID(rawValue: .random(in: 1000..<1 << 31)) },
                now: fixture.now
            )
        }
        #expect(try await enqueue() == 1)
        #expect(try await enqueue() == nil)
        let wait = await ContinuousClock().measure { await options.lookBook.signal.wait(atMost: .seconds(120)) }
        #expect(wait < .seconds(120))
        try connection.execute("rollback")
        #expect(try await [enqueue(), enqueue(), enqueue()] == [0, 1, nil])
    }

    /// A server without the recall's app finds no devices for the looks.
    @Test func aServerOfAnotherAppLeavesTheLooksOfARecallToItsApp() async throws {
        var options = StoreOptions()
        options.looks = ["apns": .seconds(10)]
        let fixture = try StoreFixture(.postgreSQL, options: options)
        let alice = try await fixture.addUser("alice", role: .publisher)
        try await fixture.addDevice(of: alice, handle: "one")
        try await fixture.post(1, from: alice, to: "username:alice")
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(id, by: .sender(alice.id), now: fixture.now))
        options.looks = ["bank:apns": .seconds(10)]
        let other = try fixture.reopened(options: options)
        for (store, expected) in [(other.store, nil), (fixture.store, 1)] as [(any Store, Int?)] {
            let count = try await store.enqueueRecallLooks(
                page: 9,
                makeID: { NotificationID(rawValue: 77) },
                now: fixture.now
            )
            #expect(count == expected)
        }
        await other.store.close()
    }
}
