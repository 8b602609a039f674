import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushPostgreSQL

/// A new data key on several servers: no server encrypts with the key before all servers have it.
@Suite(.timeLimit(.minutes(5))) struct SharedKeyTests {
    private let folder: TemporaryFolder
    /// A keyring with the old key alone, and one with the new key followed by the old one.
    private let (old, new): (String, String)
    private let a: Server
    private let b: Server

    init() throws {
        self.folder = try TemporaryFolder()
        let old = Keyring.generateText()
        (self.old, self.new) = (old, try Keyring.addingKey(to: old).text)
        self.a = try Server(old, in: self.folder)
        self.b = try Server(old, in: self.folder)
    }

    /// A server that shares the database with others.
    private struct Server: Sendable {
        let fixture: StoreFixture
        let store: PostgreSQLStore
        private let log = Log()

        init(_ keyring: String, isCommand: Bool = false, in folder: TemporaryFolder) throws {
            var options = StoreOptions.patient
            let log = self.log
            options.cluster.isListedAfterEnd = !isCommand
            options.cluster.mayExchange = {
                log.looks.wrappingAdd(1, ordering: .relaxed)
                return !log.isStopped.load(ordering: .relaxed)
            }
            options.onEvent = { event in log.events.withLock { $0.append(event) } }
            self.fixture = try StoreFixture(.postgreSQL, in: folder, keyring: keyring, options: options)
            self.store = try #require(self.fixture.store as? PostgreSQLStore)
        }

        var seals: UInt32 { self.store.vault.keyring.sealing }
        /// How many times the server has checked whether it may renew its lease or join under a
        /// new number.
        var looks: Int { self.log.looks.load(ordering: .relaxed) }
        var events: [StoreEvent] { self.log.events.withLock { $0 } }

        /// Replaces the server's keyring, as `sealpost keys reload` does.
        func reload(_ keyring: String) async throws {
            _ = try await self.store.replaceKeyring(Keyring(text: keyring), now: self.fixture.now)
        }

        /// Stops and resumes the server's exchange with the others, as SIGSTOP and SIGCONT would.
        func stop() { self.log.isStopped.store(true, ordering: .relaxed) }
        func goOn() { self.log.isStopped.store(false, ordering: .relaxed) }
    }

    private final class Log: Sendable {
        let events = Mutex([StoreEvent]())
        let isStopped = Atomic(false)
        let looks = Atomic(0)
    }

    private func connection() throws -> BlockingConnection {
        try BlockingConnection(FolderDatabases.database(of: self.folder))
    }

    /// The numbers of the keys that the database marks as in use.
    private var inUse: [UInt32] {
        get throws {
            try PostgreSQLPlace(FolderDatabases.database(of: self.folder), pool: .longTimeouts).dataKeys().map(\.number)
        }
    }

    private func fence(_ server: Server) throws {
        _ = try self.connection().query(
            "update node set is_fenced = true where number = $1",
            server.store.membership.number
        )
    }

    /// The expected report of a server that does not use the new key yet, because another server
    /// lacks it.
    private func wait() -> KeyWait { KeyWait(number: 2, sealing: 1, lacking: [ServerMembership.name]) }

    // MARK: In any order

    @Test(arguments: [[0, 1, 2], [2, 0, 1]])
    func aNewKeyEncryptsOnceAllServersHaveIt(order: [Int]) async throws {
        let servers = [self.a, self.b, try Server(self.old, in: self.folder)]
        for index in order.dropLast() {
            try await servers[index].reload(self.new)
            #expect(servers.map(\.seals) == [1, 1, 1])
            #expect(servers[index].store.cluster?.keyWait == self.wait())
            #expect(servers[index].events == [.keyWaits(self.wait())])
            try await servers[index].store.settleKeys()
            #expect(try self.inUse == [1])
        }
        let last = servers[order[2]]
        try await last.reload(self.new)
        #expect(last.seals == 2 && last.store.cluster?.keyWait == nil && last.events.isEmpty)
        #expect(try self.inUse == [1, 2])
        for index in order.dropLast() {
            #expect(servers[index].seals == 1)
            try await servers[index].store.settleKeys()
            #expect(servers[index].seals == 2 && servers[index].store.cluster?.keyWait == nil)
            #expect(servers[index].events == [.keyWaits(self.wait()), .keySeals(2)])
        }
        let sealing = try self.connection().query("select sealing from node order by number")
        #expect(try sealing.map { try $0.integer(0) } == [2, 2, 2])
        #expect(try await last.store.rewrap()?.unused == [1])
    }

    @Test func everyServerDecryptsTheOthersValuesAtAnyMoment() async throws {
        let alice = try await self.a.fixture.addUser("alice")
        for (server, name) in [(self.a, "a"), (self.b, "b")] {
            try await server.reload(self.new)
            try await server.fixture.addDevice(of: alice, handle: name)
            try await self.a.store.settleKeys()
            try await server.fixture.addDevice(of: alice, handle: "\(name)-again")
        }
        try await self.a.fixture.post(1, from: alice, to: "username:alice")
        #expect(try await self.a.fixture.lease().count == 4)
    }

    @Test func aRunningServerSwitchesToTheKeyByItself() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.a.store.run() }
            try await self.a.reload(self.new)
            #expect(self.a.seals == 1)
            try await self.b.reload(self.new)
            try await eventually { self.a.seals == 2 }
            group.cancelAll()
        }
    }

    @Test func theSwitchWaitsForAServerThatJoinsMeanwhile() async throws {
        try await self.a.reload(self.new)
        let c = try Server(self.old, in: self.folder)
        let d = try Server(self.new, in: self.folder)
        #expect(d.seals == 1 && d.store.cluster?.keyWait == self.wait() && d.events == [.keyWaits(self.wait())])
        try await self.b.reload(self.new)
        #expect(self.b.seals == 1)
        await c.store.close()
        for server in [self.a, self.b, d] {
            try await server.store.settleKeys()
            #expect(server.seals == 2)
        }
    }

    /// The operator has run `keys rotate` on each server, instead of copying one server's keyring.
    /// Two different keys therefore have the same number.
    @Test func differentKeysWithOneNumberAreDistinguished() async throws {
        let other = try Keyring.addingKey(to: self.old).text
        try await self.a.reload(self.new)
        try await self.b.reload(other)
        for server in [self.a, self.b] {
            try await server.store.settleKeys()
            #expect(server.seals == 1 && server.store.cluster?.keyWait == self.wait())
        }
        try await self.b.reload(self.new)
        try await self.a.store.settleKeys()
        #expect(self.a.seals == 2 && self.b.seals == 2)
    }

    @Test func aRevertedKeyringEncryptsAsBefore() async throws {
        try await self.a.reload(self.new)
        try await self.a.reload(self.old)
        #expect(self.a.seals == 1 && self.a.store.cluster?.keyWait == nil)
        try await self.b.reload(self.new)
        #expect(self.b.seals == 1 && self.b.store.cluster?.keyWait == self.wait())
    }

    // MARK: Starts

    @Test func aServerWithoutTheKeyInUseDoesNotStart() async throws {
        for server in [self.a, self.b] { try await server.reload(self.new) }
        let error = try #require(#expect(throws: StoreError.self) { _ = try Server(self.old, in: self.folder) })
        #expect(error.isConfiguration)
        for words in [
            "it lacks key 2,",
            "the server \(ServerMembership.name) encrypts with it now: copy the keyring of that server",
        ] {
            #expect("\(error)".contains(words), "\(error)")
        }
    }

    @Test func simultaneousStartsUseOnlyAKeyThatBothHave() async throws {
        let folder = try TemporaryFolder()
        let database = try BlockingConnection(FolderDatabases.database(of: folder))
        try database.execute("begin; select id from schema_state where id = 1 for update")
        let starts = try await withThrowingTaskGroup(of: (any Store)?.self) { group in
            for keyring in [self.old, self.new] {
                group.addTask {
                    let place = PostgreSQLPlace(try FolderDatabases.database(of: folder), pool: .longTimeouts)
                    // Opening a store blocks its thread, so it must not run on a thread of Swift's
                    // tasks.
                    return await withCheckedContinuation { continuation in
                        DispatchQueue.global().async {
                            continuation.resume(returning: try? place.open(Keyring(text: keyring)))
                        }
                    }
                }
            }
            let watch = try BlockingConnection(FolderDatabases.database(of: folder))
            try await eventually { try watch.query(Self.waiting).count == 2 }
            try database.execute("commit")
            return try await group.reduce(into: [any Store]()) { if let store = $1 { $0.append(store) } }
        }
        let sealing = starts.map(\.vault.keyring.sealing).max()
        // If only one server started, it encrypts with the new key. If both started, the one with
        // both keys waits for the other and still uses the old key.
        #expect(sealing == (starts.count == 1 ? 2 : 1))
    }

    /// A command uses the keyring of its server and ends soon, so servers need not wait for it.
    @Test func commandsWaitForServersAndServersIgnoreCommands() async throws {
        let command = try Server(self.old, isCommand: true, in: self.folder)
        let other = try Server(self.new, isCommand: true, in: self.folder)
        #expect(other.seals == 1 && other.store.cluster?.keyWait == self.wait())
        for server in [self.a, self.b] { try await server.reload(self.new) }
        #expect(self.b.seals == 2)
        await command.store.close()
        await other.store.close()
    }

    // MARK: Pauses and crashes

    @Test func aStoppedServerStaysOutUntilItHasTheKey() async throws {
        self.a.stop()
        try self.fence(self.a)
        try await self.b.reload(self.new)
        #expect(self.b.seals == 2)
        self.a.goOn()
        try await eventually { self.a.store.refusal != nil }
        #expect(self.a.store.refusal == "this server lacks a data key")
        #expect(try #require(self.a.store.failure).contains("lacks key 2"))
        #expect(self.a.store.lease.term == nil)
        #expect(throws: VaultError.sealingStopped) { try self.a.store.vault.seal(Data(), in: .indexSecret) }
        await #expect(throws: StoreError.self) { try await self.a.fixture.addUser("alice") }
        let alive = try self.connection().query("select number from node where not is_fenced")
        #expect(try alive.map { try $0.integer(0) } == [self.b.store.membership.number])
        try await self.a.reload(self.new)
        try await eventually { self.a.store.lease.term != nil }
        #expect(self.a.seals == 2 && self.a.store.refusal == nil && self.a.store.failure == nil)
        let reasons = self.a.events.filter { if case .outWithoutKey = $0 { true } else { false } }
        #expect(reasons.count == 1 && self.a.events.count == 1, "told once: \(self.a.events)")
        try await self.a.fixture.addUser("alice")
    }

    /// The server checks twice a second whether it may join, and does so with the keyring that it
    /// has at that moment.
    @Test func anExcludedServerCanCheckWhileItLoadsTheKey() async throws {
        self.a.stop()
        try self.fence(self.a)
        try await self.b.reload(self.new)
        self.a.goOn()
        try await eventually { self.a.store.refusal != nil }
        let database = try self.connection()
        try database.execute("begin; select id from schema_state where id = 1 for update")
        async let reload: Void = self.a.reload(self.new)
        let watch = try self.connection()
        try await eventually { try watch.query(Self.waiting).count == 1 }
        // Each attempt to join checks twice whether the server may exchange data with the others.
        // After five more checks, at least one attempt has begun and ended.
        let looks = self.a.looks
        try await eventually { self.a.looks >= looks + 5 }
        try database.execute("commit")
        try await reload
        try await eventually { self.a.store.lease.term != nil }
        #expect(self.a.seals == 2 && self.a.store.refusal == nil)
        try await self.a.fixture.addUser("alice")
    }

    /// Before it was stopped, the server told the others which keys it has. When it resumes, it
    /// renews its lease.
    @Test func theSwitchWaitsForAStoppedServerUntilItIsFenced() async throws {
        for server in [self.a, self.b] { server.stop() }
        _ = try self.connection().query("update node set until = 0 where number = $1", self.a.store.membership.number)
        try await self.b.reload(self.new)
        #expect(self.b.seals == 1)
        try self.fence(self.a)
        self.b.goOn()
        try await self.b.store.settleKeys()
        #expect(self.b.seals == 2)
    }

    @Test func aReturningServerEncryptsWithTheOthersKey() async throws {
        try await self.a.reload(self.new)
        self.a.stop()
        try self.fence(self.a)
        try await self.b.reload(self.new)
        #expect(try await self.b.store.rewrap()?.unused == [1])
        // Because `b` has switched to the new key, the old key can be removed.
        try await self.b.reload(Keyring.removingKey(1, from: self.new))
        #expect(self.a.seals == 1)
        self.a.goOn()
        try await eventually { self.a.seals == 2 }
        #expect(self.a.store.cluster?.keyWait == nil)
        #expect(try self.inUse == [2])
    }

    @Test func aReturningServerWaitsForAKeyChangeInProgress() async throws {
        let database = try self.connection()
        try database.execute("begin; select id from schema_state where id = 1 for update")
        try self.fence(self.a)
        try await eventually { self.a.store.lease.term == nil }
        let watch = try self.connection()
        let number = self.a.store.membership.number
        // The excluded server does not wait for a lock in the database. It checks again and again
        // whether it may join.
        #expect(try watch.query(Self.waiting).count == 0)
        try database.execute("commit")
        try await eventually { self.a.store.lease.term != nil }
        #expect(self.a.store.membership.number > number)
    }

    /// When the server dies, the new key is marked as in use, but no value is encrypted with it
    /// yet.
    @Test func aServerThatDiesBeforeTheSwitchDelaysNoOther() async throws {
        try await self.a.reload(self.new)
        let checkValue = try #require(Keyring(text: self.new).checkValue(of: 2))
        _ = try self.connection().query(DataKeyEntry.adding, Int64(2), checkValue, Int64(0))
        self.a.stop()
        self.a.store.membership.abandon()
        // With this later end of the lease, the other server does not fence `a` by itself, however
        // long the test takes.
        _ = try self.connection().query(
            "update node set until = until + 3600000 where number = $1",
            self.a.store.membership.number
        )
        // The dead server may have encrypted with the new key, so the new key stays in use.
        let line = try #require(self.new.split(separator: "\n").first { $0.hasPrefix("2 ") })
        try await self.b.reload(self.old + line)
        #expect(self.b.seals == 1)
        #expect(try await self.b.store.rewrap()?.unused == [])
        // The previous key also stays in use, because the dead server may have encrypted with it.
        try await self.b.reload(self.new)
        #expect(self.b.seals == 2)
        #expect(try await self.b.store.rewrap()?.unused == [])
        try self.fence(self.a)
        #expect(try await self.b.store.rewrap()?.unused == [1])
    }

    // MARK: Servers of an older version

    @Test func anOlderServerIsKnownToHaveItsEncryptionKey() async throws {
        // An older server does not publish its keys. This row's lease does not expire meanwhile.
        _ = try self.connection().query(
            """
            insert into node (name, release, schema, started_at, until, sealing, seen_epoch)
            select name, '', schema, started_at, until + 3600000, 1, seen_epoch from node order by number limit 1
            """
        )
        for server in [self.a, self.b] { try await server.reload(self.new) }
        #expect(self.b.seals == 1 && self.b.store.cluster?.keyWait == self.wait())
        // An older server switches to another key at once, without waiting for other servers.
        let checkValue = try #require(Keyring(text: self.new).checkValue(of: 2))
        _ = try self.connection().query(DataKeyEntry.adding, Int64(2), checkValue, Int64(0))
        _ = try self.connection().query("update node set sealing = 2 where keys is null")
        try await self.b.store.settleKeys()
        #expect(self.b.seals == 2)
        // A newly started server also encrypts with the key of the older server.
        let c = try Server(self.new, in: self.folder)
        #expect(c.seals == 2)
        // If no key is on every server, the server encrypts with one that is in use.
        _ = try self.connection().query(
            """
            insert into node (name, release, schema, started_at, until, sealing, seen_epoch)
            select 'older', '', schema, started_at, until, 1, seen_epoch from node where keys is null
            """
        )
        #expect(try Server(self.new, in: self.folder).seals == 2)
    }

    // MARK: The form

    @Test func announcedKeysAreReadBackAndFragmentsIgnored() throws {
        let keyring = try Keyring(text: self.new)
        let held = HeldKeys(keyring)
        #expect(held.keys.map(\.number) == [2, 1])
        #expect(held.bytes.count == 40)
        #expect(HeldKeys(held.bytes) == held)
        #expect(HeldKeys(held.bytes.dropFirst(20)).keys.map(\.number) == [1])
        for count in 0..<20 { #expect(HeldKeys(held.bytes.prefix(count)).keys.isEmpty) }
        #expect(HeldKeys(held.bytes + [1]) == held)
        #expect(HeldKeys(held.bytes).checkValues[2] == keyring.checkValue(of: 2))
    }
}

extension SharedKeyTests {
    /// Selects the database connections that wait for locks of other connections.
    private static let waiting = """
        select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
        """
}
