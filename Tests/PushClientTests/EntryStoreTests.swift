import ClientPeers
import Cryptography
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Tests the stores of accounts' files.
@Suite(.timeLimit(.minutes(5))) struct EntryStoreTests {
    private static let key = SymmetricKey(size: .bits256)
    private static let name = EntryName(id: 4711, commit: 1, nonce: 3)

    private static func stores(in folder: TemporaryFolder) -> [any EntryStore] {
        [MemoryStore(), FolderStore(URL(fileURLWithPath: folder.file("new/store")), key: Self.key)]
    }

    private static func files(in folder: TemporaryFolder, _ part: String) throws -> [URL] {
        let root = URL(fileURLWithPath: folder.file("new/store"))
        return try FileManager.default.subpathsOfDirectory(atPath: root.path).filter {
            part.isEmpty || $0.contains(part)
        }
        .map { root.appending(path: $0) }.filter { (try? Data(contentsOf: $0)) != nil }
    }

    @Test func anIndexNumberIsCreatedOnlyOnce() throws {
        let folder = try TemporaryFolder()
        for store in Self.stores(in: folder) {
            let (alice, bob) = (store.folder(of: "alice"), store.folder(of: "bob"))
            #expect(try store.commits(in: alice) == [])
            #expect(try store.createIndex(Data("1".utf8), 7, in: alice))
            #expect(try !store.createIndex(Data("2".utf8), 7, in: alice))
            #expect(try store.createIndex(Data("3".utf8), 7, in: bob))
            guard case .value(let value) = try store.readIndex(7, in: alice) else { throw CancellationError() }
            #expect(value == Data("1".utf8))
            #expect(try store.commits(in: alice) == [7])
            #expect(Set(store.folders()) == [alice, bob])
            store.removeIndex(7, in: alice)
            guard case .gone = try store.readIndex(7, in: alice) else { throw CancellationError() }
            #expect(try store.commits(in: alice) == [])
            #expect(store.leftovers(in: bob) == [])
        }
    }

    @Test func anEntryIsCreatedOnceAndRemoved() throws {
        let folder = try TemporaryFolder()
        for store in Self.stores(in: folder) {
            let alice = store.folder(of: "alice")
            #expect(try store.readEntry(Self.name, in: alice) == nil)
            #expect(try store.createEntry(Data("1".utf8), Self.name, .server, in: alice))
            #expect(try !store.createEntry(Data("2".utf8), Self.name, .server, in: alice))
            #expect(try store.readEntry(Self.name, in: alice) == Data("1".utf8))
            #expect(try store.readEntry(Self.name, in: store.folder(of: "bob")) == nil)
            let other = EntryName(id: 4711, commit: 2, nonce: 3)
            #expect(try store.createEntry(Data("2".utf8), other, .server, in: alice))
            let leftovers = store.leftovers(in: alice)
            #expect(leftovers.count == 2)
            store.removeLeftovers(leftovers, except: [other], in: alice)
            #expect(try store.readEntry(Self.name, in: alice) == nil)
            #expect(try store.readEntry(other, in: alice) == Data("2".utf8))
            store.removeEntry(other, in: alice)
            store.removeEntry(other, in: alice)
            #expect(try store.readEntry(other, in: alice) == nil)
        }
    }

    /// Entries of one commit. Seven entries are in two boxes and a file.
    private static func packed(_ folder: TemporaryFolder, _ count: Int64 = 7) throws -> (FolderStore, Account) {
        let place = URL(fileURLWithPath: folder.file("new/store"))
        let store = FolderStore(place, key: Self.key, limits: StoreLimits(box: 3))
        let account = Account(store, name: "alice", proof: .echoed)
        try account.change { draft in
            for id in 1...count {
                let item = NotificationItem(
                    id: id,
                    payload: .string("secret \(id)"),
                    isRead: false,
                    createdAt: .distantPast,
                    expiresAt: .distantFuture
                )
                draft.put(CachedItem(item, date: .distantPast, order: id))
            }
        }
        return (store, account)
    }

    private static func payloads(_ account: Account) throws -> [Int64: String] {
        let items = try account.read().index.names.compactMap { try account.item($0)?.item }
        return Dictionary(uniqueKeysWithValues: items.map { ($0.id, $0.payload?.text ?? "none") })
    }

    /// A box never changes. To delete one of its entries, the client moves the others out of it.
    @Test func manyEntriesShareFilesUntilOneIsDeleted() throws {
        let folder = try TemporaryFolder()
        let (store, account) = try Self.packed(folder)
        let all = try account.read().index.names
        #expect(store.leftovers(in: account.folder).count == 3)
        try account.change { draft in for id in [Int64(1), 4, 5, 6] { draft.remove(id) } }
        #expect(store.leftovers(in: account.folder).count == 3)
        let left = [Int64(2): "secret 2", 3: "secret 3", 7: "secret 7"]
        #expect(try Self.payloads(account) == left)
        for name in all where left[name.id] == nil { #expect(try store.readEntry(name, in: account.folder) == nil) }
        #expect(try Self.payloads(Account(store, name: "alice", proof: .echoed)) == left)
    }

    /// Another process removes each box as soon as one of its entries was read.
    @Test func aListOpensEachBoxOnce() throws {
        let folder = try TemporaryFolder()
        let (store, account) = try Self.packed(folder)
        let names = try account.read().index.names.sorted { ($0.id % 3, $0.id) < ($1.id % 3, $1.id) }
        var lengths: [Int64: Int?] = [:]
        try store.readEntries(names, in: account.folder) { name, value in
            lengths[name.id] = value?.count
            if let box = name.box { FolderStore.remove(store.entry(box, account.folder)) }
        }
        #expect(lengths.compactMapValues(\.self).count == 7)
        #expect(try names.filter { try store.readEntry($0, in: account.folder) != nil }.count == 1)
    }

    /// The boxes of a commit share 128 names. An inbox of version 0.1.0 becomes one commit.
    @Test func aCommitOfAnySizeIsStored() throws {
        let folder = try TemporaryFolder()
        let (store, account) = try Self.packed(folder, 500)
        #expect(store.leftovers(in: account.folder).count == 64 + 500 - 64 * 3)
        #expect(try Self.payloads(account).count == 500)
        try account.sweep()
        #expect(try Self.payloads(account).count == 500)
    }

    /// A process was killed before it removed a box, when it had moved none, one or both of the
    /// other entries out of the box.
    @Test(arguments: 0...2) func aSweepEmptiesTheBoxesOfDeletedEntries(moved: Int) throws {
        let folder = try TemporaryFolder()
        let (store, account) = try Self.packed(folder)
        let box = try #require(try account.read().index.name(of: 1)?.box)
        let file = store.entry(box, account.folder)
        let bytes = try Data(contentsOf: file)
        try account.change { $0.remove(1) }
        for other in try account.read().index.names.filter({ $0.box == box }).dropFirst(moved) {
            store.removeEntry(other, in: account.folder)
        }
        try bytes.write(to: file)
        let left = Dictionary(uniqueKeysWithValues: (Int64(2)...7).map { ($0, "secret \($0)") })
        #expect(try Self.payloads(account) == left)
        try account.sweep()
        #expect(!FolderStore.isThere(file))
        #expect(store.leftovers(in: account.folder).count == 4)
        #expect(try Self.payloads(account) == left)
    }

    /// The client syncs the index and the key file to the disk. It does not sync notifications,
    /// because it can fetch them again. Sixteen notifications share a file.
    @Test func aSyncOfManyNotificationsWritesAndSyncsFewFiles() async throws {
        let folder = try TemporaryFolder()
        let server = ListServer()
        for id in 1...50 { server.put(Int64(id), Samples.item(Int64(id))) }
        try await ScriptedPeer.run(server.script) { peer in
            let ended = try await ChildProcess(
                "/usr/bin/strace",
                [
                    "--follow-forks", "--trace=fsync,fdatasync", "--output=\(folder.file("calls"))",
                    ChildProcess.clientProgramPath, "sync", peer.url.absoluteString, folder.file("store"),
                ],
                in: folder.path,
                environment: ["PATH": "/usr/bin:/bin"]
            ).end()
            #expect(ended.output == "50\n", "\(ended.errors)")
            let calls = try String(contentsOfFile: folder.file("calls"), encoding: .utf8)
            let count = calls.split(separator: "\n").count { $0.contains("sync(") }
            #expect((1...10).contains(count), "\(calls)")
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.file("store"))
            #expect(files.count { $0.contains("/entries/") } == 5, "three boxes and two files")
        }
    }

    @Test func aFileIsNeverOverwritten() throws {
        let folder = try TemporaryFolder()
        let file = URL(fileURLWithPath: folder.file("file"))
        try NewFile.create(file, Data([1]), isSynced: true)
        #expect(throws: CocoaError(.fileWriteFileExists)) { try NewFile.create(file, Data([2]), isSynced: false) }
        #expect(try Data(contentsOf: file) == Data([1]))
        let missing = URL(fileURLWithPath: folder.file("none/file"))
        #expect(throws: CocoaError(.fileNoSuchFile)) { try NewFile.create(missing, Data(), isSynced: false) }
    }

    @Test func theOldestAccountIsEvictedAboveTheLimit() throws {
        let folder = try TemporaryFolder()
        let store = FolderStore(URL(fileURLWithPath: folder.path), key: Self.key, limits: StoreLimits(accounts: 2))
        for account in ["a", "b"] { _ = try store.createIndex(Data(), 1, in: store.folder(of: account)) }
        // The store evicts the account whose latest change is the oldest.
        _ = try store.createIndex(Data(), 2, in: store.folder(of: "a"))
        _ = try store.createIndex(Data(), 1, in: store.folder(of: "c"))
        #expect(try ["a", "b", "c"].filter { try !store.commits(in: store.folder(of: $0)).isEmpty } == ["a", "c"])
    }

    /// Changes that the server has not got yet exist only in the account's files.
    @Test func anAccountWithUnsentChangesIsNotEvicted() throws {
        let folder = try TemporaryFolder()
        let store = FolderStore(URL(fileURLWithPath: folder.path), key: Self.key, limits: StoreLimits(accounts: 2))
        func account(_ name: String) -> Account { Account(store, name: name, proof: .echoed) }
        try account("a").end { _ in
            SignOutOrder(
                server: "s",
                authorization: "Bearer t",
                isWhenChallenged: false,
                registration: "id-1",
                account: "a"
            )
        }
        try account("b").change { draft in _ = draft.enqueue(OutboxTask(.dismiss, id: 7), payload: nil) }
        for name in ["c", "d", "e"] { try account(name).change { $0.index.cursor = "c" } }
        let left = try ["a", "b", "c", "d", "e"].filter { try account($0).newest(store).commit > 0 }
        #expect(left == ["a", "b", "e"])
        #expect(try account("a").signOuts().count == 1)
        #expect(try account("b").read().index.outbox.count == 1)
        // When the server has got the changes, the store may evict the account like any other.
        for order in try account("a").signOuts() { try account("a").finish(order) }
        try account("f").change { $0.index.cursor = "c" }
        #expect(try account("a").newest(store).commit == 0)
        #expect(try account("b").newest(store).commit > 0)
    }

    @Test func filesRevealNeitherContentNorNames() throws {
        let folder = try TemporaryFolder()
        let store = Self.stores(in: folder)[1]
        let secret = "the stored secret"
        let account = store.folder(of: "https://push.example\nuser:alice")
        _ = try store.createEntry(Data(secret.utf8), Self.name, .server, in: account)
        _ = try store.createIndex(Data(secret.utf8), 1, in: account)
        let files = try Self.files(in: folder, "")
        #expect(files.count == 3)
        let all = try files.reduce(into: Data()) { bytes, file in
            bytes += Data(file.path.dropFirst(folder.path.count).utf8) + (try Data(contentsOf: file))
        }
        for text in [secret, "4711", "alice", "push.example"] { #expect(all.range(of: Data(text.utf8)) == nil) }
        // If the same content is encrypted again, the bytes differ.
        let before = try Self.files(in: folder, "entries").map { try Data(contentsOf: $0) }
        store.removeEntry(Self.name, in: account)
        _ = try store.createEntry(Data(secret.utf8), Self.name, .server, in: account)
        #expect(try Self.files(in: folder, "entries").map { try Data(contentsOf: $0) } != before)
    }

    /// When the key was lost, nobody can read the files that were encrypted with it. The store
    /// therefore removes them.
    @Test func filesUnderALostKeyAreRemovedAtTheNextWrite() throws {
        let folder = try TemporaryFolder()
        let url = URL(fileURLWithPath: folder.file("new/store"))
        let store = FolderStore(url, key: Self.key)
        let alice = store.folder(of: "alice")
        _ = try store.createEntry(Data("1".utf8), Self.name, .server, in: alice)
        _ = try store.createIndex(Data("1".utf8), 1, in: alice)
        let other = FolderStore(url, key: SymmetricKey(size: .bits256))
        let account = other.folder(of: "alice")
        #expect(try other.commits(in: account) == [])
        #expect(try other.readEntry(Self.name, in: account) == nil)
        #expect(try Self.files(in: folder, "").count == 3, "to look removes nothing")
        _ = try other.createEntry(Data("2".utf8), Self.name, .server, in: account)
        #expect(try Self.files(in: folder, "").count == 2)
        #expect(try other.readEntry(Self.name, in: account) == Data("2".utf8))
        // With the first key again, the store finds nothing. The write with the other key has
        // removed the files of the first key.
        #expect(try FolderStore(url, key: Self.key).readEntry(Self.name, in: alice) == nil)
    }

    @Test func aDamagedFileIsDetectedAndHarmsNoOther() throws {
        let folder = try TemporaryFolder()
        let store = Self.stores(in: folder)[1]
        let alice = store.folder(of: "alice")
        _ = try store.createEntry(Data("value".utf8), Self.name, .server, in: alice)
        _ = try store.createIndex(Data("value".utf8), 1, in: alice)
        for part in ["entries", "index"] {
            let file = try #require(try Self.files(in: folder, part).first)
            let good = try Data(contentsOf: file)
            var damaged: [Data] = [Data(), Data(count: 11), good.dropLast(), good + [0], Data(count: good.count)]
            for index in good.indices {
                var bytes = good
                bytes[index] ^= 1
                damaged.append(bytes)
            }
            for bytes in damaged {
                try bytes.write(to: file)
                if part == "entries" {
                    #expect(try store.readEntry(Self.name, in: alice) == nil)
                } else {
                    guard case .damaged = try store.readIndex(1, in: alice) else { throw CancellationError() }
                }
            }
            try good.write(to: file)
        }
        // A file that was copied to another file's place cannot be decrypted there.
        let other = EntryName(id: 1, commit: 1, nonce: 1)
        let first = try #require(try Self.files(in: folder, "entries").first)
        _ = try store.createEntry(Data("other".utf8), other, .server, in: alice)
        let second = try #require(try Self.files(in: folder, "entries").first { $0 != first })
        try Data(contentsOf: first).write(to: second)
        #expect(try store.readEntry(other, in: alice) == nil)
        #expect(try store.readEntry(Self.name, in: alice) == Data("value".utf8))
    }

    @Test func onlyTheOwnerMayOpenTheFolders() throws {
        let folder = try TemporaryFolder()
        let store = Self.stores(in: folder)[1]
        _ = try store.createIndex(Data("value".utf8), 1, in: store.folder(of: "alice"))
        for path in ["new/store", "new/store/\(store.folder(of: "alice").name)/index"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(path))
            #expect(attributes[.posixPermissions] as? Int == 0o700)
        }
    }

    /// The disk accepts no writes. Calls must work nevertheless, and the next process starts
    /// without stored data.
    @Test func syncWorksWithoutAWritableStore() async throws {
        let folder = try TemporaryFolder()
        let place = URL(fileURLWithPath: folder.file("store"))
        try Data().write(to: place)
        let store = PushClient.Store.folder(place, key: Self.key)
        let server = ListServer()
        for id in 1...5 { server.put(Int64(id), Samples.item(Int64(id))) }
        server.change { $0.pageSize = 2 }
        try await ScriptedPeer.run(server.script, store: store) { peer, client async throws in
            #expect(try await client.sync().value.notifications.count == 5)
            #expect(peer.requests.count == 3)
            // The first client still has the inbox in memory. Another client starts without stored
            // data.
            #expect(try await client.sync().value.notifications.count == 5)
            #expect(peer.requests.count == 4)
            #expect(try await peer.client(store: store).sync().value.notifications.count == 5)
            #expect(peer.requests.count == 7)
            // The disk accepts writes again.
            try FileManager.default.removeItem(at: place)
            #expect(try await client.sync().value.notifications.count == 5)
            #expect(try await peer.client(store: store).cachedInbox().notifications.count == 5)
        }
    }
}
