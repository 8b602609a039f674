import ClientPeers
import Cryptography
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Tests the stored state of an account, and concurrent changes to it.
@Suite(.timeLimit(.minutes(5))) struct AccountTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let key = SymmetricKey(size: .bits256)

    private static func account(_ store: PushClient.Store, limits: StoreLimits = StoreLimits()) -> Account {
        Account(store.entries, name: "alice", proof: .echoed, limits: limits)
    }

    private static func item(_ id: Int64, _ payload: String = "secret", expires: TimeInterval = 1e9) -> CachedItem {
        let item = NotificationItem(
            id: id,
            payload: .string(payload),
            isRead: false,
            createdAt: Self.now + TimeInterval(id),
            expiresAt: Self.now + expires
        )
        return CachedItem(item, date: Self.now)
    }

    private static func page(_ ids: [Int64], cursor: String) throws -> InboxPage {
        let text = Samples.list(ids.map { Samples.item($0) }, cursor: cursor)
        return try InboxPage(
            Answer(
                request: APIRequest("GET", "/api/notifications"),
                status: 200,
                body: Data(text.utf8),
                fields: Answer.Fields(tag: nil, isNoStore: false, retryAfter: nil, serverTime: nil),
                json: JSONValue(reading: text.utf8),
                account: nil
            )
        )
    }

    private static func merge(_ keeper: InboxKeeper, _ page: InboxPage, requestedAt before: Account.Snapshot)
        async throws -> Bool
    {
        try await keeper.merge(page, requestedAt: before, isRestart: false, serverTime: nil, now: Self.now)
    }

    @Test func aPageIsMergedOnlyAtItsOwnCursor() async throws {
        let store = PushClient.Store.memory
        let (one, other) = (InboxKeeper(Self.account(store)), InboxKeeper(Self.account(store)))
        let start = try await one.read()
        #expect(try await Self.merge(one, Self.page([1], cursor: "a"), requestedAt: start))
        // The second page of the list was requested at the same time as the first, but is merged
        // later.
        #expect(try await !Self.merge(other, Self.page([2], cursor: "b"), requestedAt: start))
        let first = try await other.read()
        #expect(first.index.cursor == "a")
        #expect(Array(first.index.entries.keys) == [1])
        #expect(try await Self.merge(other, Self.page([3], cursor: "c"), requestedAt: first))
        #expect(try await one.read().index.entries.keys.sorted() == [1, 3])
    }

    /// During a request, the user dismissed one notification, and another one was fetched and then
    /// reported as gone.
    @Test func aLateAnswerDoesNotUndoLaterChanges() async throws {
        let keeper = InboxKeeper(Self.account(.memory))
        let before = try await keeper.read()
        try await keeper.take(Self.item(1), requestedAt: before.commit, serverTime: nil)
        try await keeper.remove([1])
        #expect(try await Self.merge(keeper, Self.page([1, 2], cursor: "a"), requestedAt: before))
        #expect(try await keeper.read().index.entries.keys.sorted() == [2])
        let asked = try await keeper.read()
        try await keeper.remove([2])
        try await keeper.take(Self.item(2), requestedAt: asked.commit, serverTime: nil)
        #expect(try await keeper.read().index.entries.isEmpty)
        try await keeper.take(Self.item(2), requestedAt: keeper.read().commit, serverTime: nil)
        #expect(try await keeper.read().index.entries.count == 1)
    }

    @Test(arguments: [false, true]) func concurrentChangesAreAllStored(isFolder: Bool) async throws {
        let folder = try TemporaryFolder()
        let memory = PushClient.Store.memory
        let url = URL(fileURLWithPath: folder.path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    // Each worker acts like a separate process.
                    let account = Self.account(isFolder ? .folder(url, key: Self.key) : memory)
                    for number in 0..<25 {
                        let id = Int64(worker * 100 + number)
                        try account.change { $0.put(Self.item(id, "of \(worker)")) }
                        if number % 5 == 4 { try account.change { $0.remove(id) } }
                        if number % 10 == 9 { try account.sweep() }
                    }
                }
            }
            try await group.waitForAll()
        }
        let account = Self.account(isFolder ? .folder(url, key: Self.key) : memory)
        let snapshot = try account.read()
        #expect(snapshot.index.entries.count == 80)
        #expect(try snapshot.index.names.allSatisfy { try account.item($0)?.item.id == $0.id })
        #expect(snapshot.index.deletions.count == 20)
        try account.sweep()
        #expect(account.store.leftovers(in: account.folder).count == 80)
    }

    /// The index fits into 64 KiB with 5,000 notifications. Their ids are random, their payloads
    /// have 4 KiB, and each came in a separate page.
    @Test func theIndexFitsInSixtyFourKibibytes() throws {
        var index = AccountIndex.empty(.signed, epoch: 3, after: 0)
        index.history = (0..<32).map { _ in .random(in: 0 ... .max) }
        index.cursor = "Zbl_4MM6yBVQGIiNKrU9Ow"
        index.syncedAt = Self.now
        for place in 0..<5000 {
            let item = Self.item(1, expires: .random(in: 0..<30 * 86400))
            index.entries[.random(in: 1..<1 << 53)] = AccountIndex.Entry(item, 4300, commit: Int64(place + 1))
        }
        for _ in 0..<300 { index.deletions[.random(in: 1..<1 << 53)] = .random(in: 1...5000) }
        let bytes = index.bytes(6000)
        #expect(bytes.count <= AccountDraft.maximumIndex)
        #expect(AccountIndex(bytes: bytes, 6000) == index)
        for count in [0, 1, 10, bytes.count / 2, bytes.count - 1] {
            #expect(AccountIndex(bytes: bytes.prefix(count), 6000) == nil)
        }
    }

    @Test func theOldestNotificationsAreEvictedAboveTheLimits() throws {
        let account = Self.account(.memory, limits: StoreLimits(entries: 8, bytes: 5000))
        for id in 1...10 { try account.change { $0.put(Self.item(Int64(id), String(repeating: "x", count: 1000))) } }
        let index = try account.read().index
        #expect(index.entries.keys.sorted() == Array(3...10))
        #expect(index.deletions.keys.sorted() == [1, 2])
        let whole = try index.names.filter { try account.item($0)?.item.payload != nil }.map(\.id).sorted()
        #expect(whole.count < 5 && whole.last == 10)
        #expect(index.entries.values.reduce(0) { $0 + Int($1.units) * 256 } <= 5000)
    }

    /// Ids that are far apart and changes in separate commits make a large index. The draft drops
    /// the oldest entries until the index fits.
    @Test func anOversizedIndexDropsTheOldestEntries() throws {
        let snapshot = Account.Snapshot(commit: 3 << 40, index: .empty(.echoed, epoch: 0, after: 0))
        var draft = AccountDraft(basedOn: snapshot) { _ in nil }
        for place in 0..<9000 {
            let entry = AccountIndex.Entry(Self.item(1), 200, commit: Int64(place))
            draft.index.entries[Int64(place) << 40] = entry
        }
        draft.finish(StoreLimits(entries: 10_000))
        #expect(draft.index.bytes(draft.commit).count <= AccountDraft.maximumIndex)
        #expect(draft.index.entries.count > 2500)
        #expect(draft.index.entries[8999 << 40] != nil && draft.index.entries[0] == nil)
        #expect(draft.index.forgottenUpTo == draft.commit)
    }

    @Test func aFileThatIsLostIsFetchedAgain() async throws {
        let folder = try TemporaryFolder()
        let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: Self.key)
        let server = ListServer()
        for id in 1...3 { server.put(Int64(id), Samples.item(Int64(id))) }
        try await ScriptedPeer.run(server.script, store: store) { _, client in
            _ = try await client.sync()
            let account = client.records.account
            let name = try #require(try account.read().index.name(of: 2))
            account.store.removeEntry(name, in: account.folder)
            #expect(try await client.cachedNotification(2) == nil)
            let cached = try await client.cachedInbox()
            #expect(cached.notifications.map(\.id) == [1, 3])
            #expect(cached.syncedAt == nil, "it is no longer complete")
            #expect(try await client.sync().value.notifications.map(\.id) == [1, 2, 3])
        }
    }

    @Test func aDamagedIndexLosesOnlyItsNotifications() throws {
        let folder = try TemporaryFolder()
        let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: Self.key)
        let account = Self.account(store)
        try account.change { $0.index.registration = StoredRegistration(id: "r", fingerprint: Data(), date: Self.now) }
        try account.change { $0.put(Self.item(1)) }
        let commit = account.latest
        let file = "\(folder.path)/\(account.folder.name)/index/\(commit)"
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: file))
        let index = try Self.account(store).read().index
        #expect(index.registration?.id == "r")
        #expect(index.entries.isEmpty && index.cursor == nil && index.forgottenUpTo == commit)
        try account.change { $0.put(Self.item(2)) }
        #expect(try Self.account(store).read().index.entries.keys.sorted() == [2])
    }

    /// A process that only shows pushes writes an entry for each, and reads no list.
    @Test func theFactsOfWrittenEntriesInMemoryHaveALimit() async throws {
        let account = Self.account(.memory, limits: StoreLimits(entries: 10))
        let keeper = InboxKeeper(account)
        for id in 1...30 {
            try await keeper.take(Self.item(Int64(id)), requestedAt: account.latest, serverTime: nil)
        }
        #expect(account.takeWritten().map(\.name.id).sorted() == Array(21...30))
    }

    /// The files have the form in which version 0.1.0 wrote them.
    @Test(arguments: [false, true]) func filesOfAnEarlierVersionAreMigrated(isSigned: Bool) async throws {
        let folder = try TemporaryFolder()
        let files = FolderStore(URL(fileURLWithPath: folder.path), key: Self.key)
        let proof = isSigned ? "signed" : "echoed"
        let name = "http://push.example\nuser:alice"
        let items = Dictionary(uniqueKeysWithValues: [Int64(1), 2].map { ($0, ["body": Data(Samples.item($0).utf8)]) })
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        struct Earlier: Encodable {
            let cursor: String
            let entries: [Int64: [String: Data]]
            let date: Date
        }
        let place = URL(fileURLWithPath: folder.file(files.folder(of: name).name))
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        func write(_ value: some Encodable, _ text: String, _ ending: String = "kept") throws {
            let file = place.appending(path: "\(files.hash("value\n\(name)\n\(text)")).\(ending)")
            try files.write(sealing: encoder.encode(value), bound: "1\n\(name)\n\(text)", to: file)
        }
        try write(Earlier(cursor: "c2", entries: items, date: Self.now), "\(proof)/inbox")
        try write(EarlierConfirmation(cursor: "c2", date: Self.now + 60), "\(proof)/confirmation")
        try write(StoredRegistration(id: "r", fingerprint: Data([1]), date: Self.now), "registration")
        try write(["a"], "\(proof)/7", "evictable")

        let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: Self.key)
        let records = Records(store, server: "http://push.example", account: "user:alice", isSigned: isSigned)
        let keeper = InboxKeeper(records.account)
        await keeper.prepare()
        let inbox = try await keeper.inbox(now: Self.now).inbox
        #expect(inbox.notifications.map(\.id) == [1, 2])
        #expect(inbox.notifications.allSatisfy { $0.payload == .string("secret") })
        #expect(inbox.syncedAt == Self.now + 60)
        #expect(try await keeper.read().index.cursor == "c2")
        #expect(records.registration?.id == "r")
        let left = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(Set(left) == ["index", "entries"])
    }
}
