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
}
