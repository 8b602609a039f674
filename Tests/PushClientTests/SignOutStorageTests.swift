import ClientPeers
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Tests that signing out works even on a full disk, and if the process is killed at any point.
@Suite(.timeLimit(.minutes(5))) struct SignOutStorageTests {
    /// A store that allows a limited number of changes, or whose disk is full.
    private final class LimitedStore: EntryStore {
        struct Limit: Sendable {
            /// The number of changes until the process is killed; `nil` if it is not killed.
            var changes: Int?
            /// Whether the disk is full, and whether removing an account makes room.
            var isFull = false
            var hasRoomAfterRemoval = true
            /// Whether another process is always the first to make a commit.
            var isContended = false
        }

        struct Killed: Error {}

        let files = MemoryStore()
        let limit = Locked(Limit())

        /// Makes a change, unless the simulated process was killed or the disk is full.
        private func write(_ body: () -> Bool) throws -> Bool {
            try self.limit.withLock { limit in
                if limit.isFull { throw CocoaError(.fileWriteOutOfSpace) }
                if let left = limit.changes {
                    guard left > 0 else { throw Killed() }
                    limit.changes = left - 1
                }
            }
            return body()
        }

        private func remove(_ body: () -> Void) {
            let isAlive = self.limit.withLock { limit in
                if let left = limit.changes {
                    guard left > 0 else { return false }
                    limit.changes = left - 1
                }
                return true
            }
            if isAlive { body() }
        }

        func folder(of account: String) -> AccountFolder { self.files.folder(of: account) }
        func folders() -> [AccountFolder] { self.files.folders() }
        func commits(in folder: AccountFolder) throws -> [Int64] { self.files.commits(in: folder) }

        func readIndex(_ commit: Int64, in folder: AccountFolder) throws -> StoredIndex {
            self.files.readIndex(commit, in: folder)
        }

        func createIndex(_ value: Data, _ commit: Int64, in folder: AccountFolder) throws -> Bool {
            if self.limit.withLock({ $0.isContended }) { return false }
            return try self.write { self.files.createIndex(value, commit, in: folder) }
        }

        func removeIndex(_ commit: Int64, in folder: AccountFolder) {
            self.remove { self.files.removeIndex(commit, in: folder) }
        }

        func readEntry(_ name: EntryName, in folder: AccountFolder) throws -> Data? {
            self.files.readEntry(name, in: folder)
        }

        func createEntry(
            _ value: Data,
            _ name: EntryName,
            _ source: EntrySource,
            in folder: AccountFolder
        ) throws -> Bool {
            try self.write { self.files.createEntry(value, name, source, in: folder) }
        }

        func removeEntry(_ name: EntryName, in folder: AccountFolder) {
            self.remove { self.files.removeEntry(name, in: folder) }
        }

        func removeAll(of folder: AccountFolder) {
            self.remove { self.files.removeAll(of: folder) }
            self.limit.withLock { if $0.hasRoomAfterRemoval { $0.isFull = false } }
        }

        func leftovers(in folder: AccountFolder) -> Set<String> { self.files.leftovers(in: folder) }

        func files(of names: [EntryName], in folder: AccountFolder) -> Set<String> {
            self.files.files(of: names, in: folder)
        }

        func removeLeftovers(_ files: Set<String>, except names: [EntryName], in folder: AccountFolder) {
            self.remove { self.files.removeLeftovers(files, except: names, in: folder) }
        }
    }

    @Test func aStoreThatAnotherProcessChangesAllTheTimeIsAStorageError() {
        let store = LimitedStore()
        store.limit.withLock { $0.isContended = true }
        let own = OwnAccount(Account(store, name: "alice", proof: .signed), known: nil)
        #expect(throws: PushClientError.busyStore) { try own.begin(as: "account") }
    }

    private static let script: ScriptedPeer.Script = { request, _ in
        switch (request.method, request.path) {
        case ("POST", "/api/register"): .answer(PeerAnswer(to: request, body: #""id-1""#))
        case ("PUT", _), ("DELETE", _): .answer(PeerAnswer(to: request, status: 204))
        default: .answer(PeerAnswer(to: request, body: Samples.list([Samples.item(7), Samples.item(8)], cursor: "c")))
        }
    }

    /// Makes a client with a registration and two notifications.
    private static func client(_ peer: ScriptedPeer, _ store: LimitedStore) async throws -> PushClient {
        let client = peer.client(store: PushClient.Store(entries: store))
        try await client.register(platform: "apns", handle: "a")
        _ = try await client.sync()
        return client
    }

    @Test(arguments: [true, false], [true, false])
    func aSignOutOnAFullDiskKeepsNothing(hasRoomAfterRemoval: Bool, isOnline: Bool) async throws {
        try await ScriptedPeer.run(Self.script) { peer in
            let store = LimitedStore()
            let client = try await Self.client(peer, store)
            store.limit.withLock { ($0.isFull, $0.hasRoomAfterRemoval) = (true, hasRoomAfterRemoval) }
            if !isOnline { peer.play { _, _ in .hangUp } }
            #expect(try await client.signOut() == isOnline)
            await #expect(throws: PushClientError.signedOut) { try await client.cachedInbox() }
            await #expect(throws: PushClientError.signedOut) { try await client.sync() }
            #expect(client.registrationID == nil)
            let next = peer.client(store: PushClient.Store(entries: store))
            #expect(try await next.cachedInbox().notifications.isEmpty)
            #expect(next.registrationID == nil)
            // A sign-out order in the store means that a later call still sends the sign-out.
            let waits = store.folders().contains { folder in
                (try? Account(store, folder: folder).signOuts().isEmpty) == false
            }
            #expect(waits == (hasRoomAfterRemoval && !isOnline))
        }
    }

    private static let mounting = #"mkdir -p disk && mount -t tmpfs -o size=64k tmpfs "$PWD/disk""#

    private static func isAllowedToMount() async throws -> Bool {
        let folder = try TemporaryFolder()
        let tried = try ChildProcess("/usr/bin/unshare", ["--mount", "/bin/sh", "-c", Self.mounting], in: folder.path)
        return await tried.end().code == 0
    }

    /// The test fills a real file system, which is in memory and in its own mount namespace.
    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() })
    func aSignOutOnAFullFileSystemKeepsNothing() async throws {
        let folder = try TemporaryFolder()
        let script = """
            set -e
            \(Self.mounting)
            "$0" fetch "$1" disk/store 7 1000000 | head -n 1
            dd if=/dev/zero of=disk/ballast bs=4k 2>/dev/null || true
            if echo x 2>/dev/null >disk/more; then exit 1; fi
            "$0" sign-out "$1" disk/store
            "$0" fetch "$1" disk/store 7 1000000 | head -n 1
            """
        let isEnded = Locked(false)
        try await ScriptedPeer.run({ request, _ in
            if isEnded.withLock({ $0 }) { return .hangUp }
            guard request.method == "DELETE" else { return .answer(PeerAnswer(to: request, body: Samples.item(7))) }
            isEnded.withLock { $0 = true }
            return .answer(PeerAnswer(to: request, status: 204))
        }) { peer in
            let ended = try await ChildProcess(
                "/usr/bin/unshare",
                ["--mount", "/bin/sh", "-c", script, ChildProcess.clientProgramPath, peer.url.absoluteString],
                in: folder.path,
                environment: ["PATH": "/usr/bin:/bin"]
            ).end()
            let lines = ended.output.split(separator: "\n")
            #expect(lines.prefix(2) == ["fresh", "true"], "\(ended)")
            #expect(lines.count >= 3 && lines[2] != "cached")
        }
    }

    @Test func aTaskOnAFullDiskIsAStorageError() async throws {
        try await ScriptedPeer.run(Self.script) { peer in
            let store = LimitedStore()
            let client = try await Self.client(peer, store)
            store.limit.withLock { $0.isFull = true }
            await #expect(throws: PushClientError.storage("NSCocoaErrorDomain 640")) {
                try await client.outbox.dismiss(7)
            }
        }
    }

    /// Whatever step was the last, the next process must find either the account as it was, or
    /// nothing of it.
    @Test(arguments: [true, false]) func aKilledSignOutLeavesTheWholeAccountOrNothing(isFull: Bool) async throws {
        var outcomes: Set<Int> = []
        for changes in 0..<12 {
            let cached = try await ScriptedPeer.run(Self.script) { peer in
                let store = LimitedStore()
                let client = try await Self.client(peer, store)
                peer.play { _, _ in .hangUp }
                store.limit.withLock { ($0.isFull, $0.changes) = (isFull, changes) }
                _ = try? await client.signOut()
                // The next process starts without a limit of changes.
                store.limit.withLock { $0 = LimitedStore.Limit() }
                let next = peer.client(store: PushClient.Store(entries: store))
                let cached = try await next.cachedInbox().notifications.count
                #expect((cached == 2) == (next.registrationID != nil))
                return cached
            }
            outcomes.insert(cached)
        }
        #expect(outcomes.isSubset(of: [0, 2]) && outcomes.contains(0), "\(outcomes)")
    }
}
