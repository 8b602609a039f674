import Crypto
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Where values are kept.
@Suite(.timeLimit(.minutes(5))) struct KeyValueStoreTests {
    private static let key = SymmetricKey(size: .bits256)

    private static func name(_ name: String, of account: String = "alice", isEvictable: Bool = true) -> ValueName {
        ValueName(account: account, name: name, isEvictable: isEvictable)
    }

    private static func stores(
        in folder: TemporaryFolder,
        _ limits: StoreLimits = StoreLimits()
    ) -> [any KeyValueStore] {
        [
            MemoryStore(limits: limits),
            FolderStore(URL(fileURLWithPath: folder.file("new/store")), key: Self.key, limits: limits),
        ]
    }

    private static func files(in folder: TemporaryFolder) throws -> [URL] {
        let root = URL(fileURLWithPath: folder.file("new/store"))
        return try FileManager.default.subpathsOfDirectory(atPath: root.path).map { root.appending(path: $0) }
            .filter { !$0.hasDirectoryPath && (try? Data(contentsOf: $0)) != nil }
    }

    @Test func aValueIsReplacedAndRemoved() throws {
        let folder = try TemporaryFolder()
        for store in Self.stores(in: folder) {
            #expect(store.read(Self.name("a")) == nil)
            try store.write(Data("1".utf8), as: Self.name("a"))
            try store.write(Data("2".utf8), as: Self.name("a"))
            try store.write(Data("3".utf8), as: Self.name("b"))
            try store.write(Data("4".utf8), as: Self.name("a", of: "bob"))
            #expect(store.read(Self.name("a")) == Data("2".utf8))
            #expect(store.read(Self.name("a", of: "bob")) == Data("4".utf8))
            store.remove(Self.name("a"))
            store.remove(Self.name("a"))
            #expect(store.read(Self.name("a")) == nil)
            #expect(store.read(Self.name("b")) == Data("3".utf8))
            store.removeAll(of: "alice")
            #expect(store.read(Self.name("b")) == nil)
            #expect(store.read(Self.name("a", of: "bob")) == Data("4".utf8))
        }
    }

    @Test func theOldestGoesWhenThereIsTooMuch() throws {
        let folder = try TemporaryFolder()
        for store in Self.stores(in: folder, StoreLimits(evictableCount: 3, evictableBytes: 1000)) {
            try store.write(Data(count: 2000), as: Self.name("kept", isEvictable: false))
            for number in 1...5 { try store.write(Data(count: 10), as: Self.name("\(number)")) }
            #expect((1...5).filter { store.read(Self.name("\($0)")) != nil } == [3, 4, 5])
            try store.write(Data(count: 900), as: Self.name("6"))
            #expect((1...6).filter { store.read(Self.name("\($0)")) != nil } == [5, 6] || store is MemoryStore)
            #expect(store.read(Self.name("6")) != nil)
            #expect(store.read(Self.name("kept", isEvictable: false)) != nil)
        }
    }

    @Test func theOldestAccountGoesWhenThereAreTooMany() throws {
        let folder = try TemporaryFolder()
        let store = FolderStore(URL(fileURLWithPath: folder.path), key: Self.key, limits: StoreLimits(accounts: 2))
        for account in ["a", "b", "c"] {
            try store.write(Data(count: 1), as: Self.name("registration", of: account, isEvictable: false))
        }
        #expect(
            ["a", "b", "c"].filter { store.read(Self.name("registration", of: $0, isEvictable: false)) != nil } == [
                "b", "c",
            ]
        )
    }

    @Test func filesTellNothing() throws {
        let folder = try TemporaryFolder()
        let store = Self.stores(in: folder)[1]
        let secret = "the secret that is kept"
        try store.write(Data(secret.utf8), as: Self.name("item/4711", of: "https://push.example\nuser:alice"))
        let files = try Self.files(in: folder)
        #expect(files.count == 1)
        let all = try files.reduce(into: Data()) { $0 += Data($1.path.utf8) + (try Data(contentsOf: $1)) }
        for text in [secret, "4711", "alice", "push.example"] { #expect(all.range(of: Data(text.utf8)) == nil) }
        // The same again looks otherwise, and another key finds nothing.
        let before = try Data(contentsOf: files[0])
        try store.write(Data(secret.utf8), as: Self.name("item/4711", of: "https://push.example\nuser:alice"))
        #expect(try Data(contentsOf: files[0]) != before)
        let other = FolderStore(URL(fileURLWithPath: folder.file("new/store")), key: SymmetricKey(size: .bits256))
        #expect(other.read(Self.name("item/4711", of: "https://push.example\nuser:alice")) == nil)
    }

    @Test func whatIsDamagedIsDroppedAndNothingElse() throws {
        let folder = try TemporaryFolder()
        let store = Self.stores(in: folder)[1]
        let name = Self.name("a")
        try store.write(Data("value".utf8), as: name)
        let file = try #require(try Self.files(in: folder).first)
        let good = try Data(contentsOf: file)
        var damaged: [Data] = [Data(), Data(count: 11), good.dropLast(), good + [0], Data(count: good.count)]
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 1
            damaged.append(bytes)
        }
        try store.write(Data("other".utf8), as: Self.name("b"))
        for bytes in damaged {
            try bytes.write(to: file)
            #expect(store.read(name) == nil)
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
        #expect(store.read(Self.name("b")) == Data("other".utf8))
        // A file in another's place is no value of that name.
        let second = try #require(try Self.files(in: folder).first)
        try FileManager.default.copyItem(at: second, to: file)
        #expect(store.read(name) == nil)
    }

    @Test func onlyTheOwnerMayLookIn() throws {
        let folder = try TemporaryFolder()
        let store = Self.stores(in: folder)[1]
        try store.write(Data("value".utf8), as: Self.name("a"))
        let file = try #require(try Self.files(in: folder).first)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.deletingLastPathComponent().path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    /// A disk that takes nothing: calls go on, and nothing is remembered.
    @Test func whatCannotBeWrittenIsFetchedAgain() async throws {
        let folder = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: folder.file("store")))
        let store = AnswerStore.folder(URL(fileURLWithPath: folder.file("store")), key: Self.key)
        let server = ListServer()
        for id in 1...5 { server.put(Int64(id), Samples.item(Int64(id))) }
        server.change { $0.pageSize = 2 }
        try await ScriptedPeer.run(server.script, store: store) { peer, client async throws in
            #expect(try await client.sync().value.notifications.count == 5)
            #expect(peer.requests.count == 3)
            // This client still knows it; another begins anew.
            #expect(try await client.sync().value.notifications.count == 5)
            #expect(peer.requests.count == 4)
            #expect(try await peer.client(store: store).sync().value.notifications.count == 5)
            #expect(peer.requests.count == 7)
        }
    }

    @Test func aLongInboxGivesUpTheOldest() {
        var state = InboxState(cursor: "c", date: Date(timeIntervalSince1970: 0))
        for id in 1...10 {
            state.entries[Int64(id)] = InboxState.Entry(
                .init(
                    id: Int64(id),
                    payload: .string(String(repeating: "x", count: 1000)),
                    isRead: false,
                    createdAt: Date(timeIntervalSince1970: Double(id)),
                    expiresAt: Date(timeIntervalSince1970: 1e9)
                )
            )
        }
        state.shrink(count: 8, bytes: 5000)
        #expect(state.items().map(\.id) == Array(3...10))
        #expect(state.items().map { $0.payload == nil } == [true, true, true, true, false, false, false, false])
        #expect(state.entries.values.reduce(0) { $0 + $1.body.count } <= 5000)
    }
}
