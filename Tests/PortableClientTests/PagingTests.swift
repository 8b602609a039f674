import ClientPeers
import Foundation
import PushAPI
import Testing

@testable import PushClient

/// Tests the pages of a large inbox, and what they read from the disk.
@Suite(.timeLimit(.minutes(5))) struct PagingTests {
    /// A store that counts the reads of entries.
    private final class CountingStore: EntryStore {
        private let files = MemoryStore()
        private let reads = Locked(0)

        var count: Int { self.reads.withLock { $0 } }

        func folder(of account: String) -> AccountFolder { self.files.folder(of: account) }
        func folders() -> [AccountFolder] { self.files.folders() }
        func commits(in folder: AccountFolder) -> [Int64] { self.files.commits(in: folder) }
        func readIndex(_ commit: Int64, in folder: AccountFolder) -> StoredIndex {
            self.files.readIndex(commit, in: folder)
        }
        func createIndex(_ value: Data, _ commit: Int64, in folder: AccountFolder) -> Bool {
            self.files.createIndex(value, commit, in: folder)
        }
        func removeIndex(_ commit: Int64, in folder: AccountFolder) { self.files.removeIndex(commit, in: folder) }
        func readEntry(_ name: EntryName, in folder: AccountFolder) -> Data? {
            self.reads.withLock { $0 += 1 }
            return self.files.readEntry(name, in: folder)
        }
        func createEntry(_ value: Data, _ name: EntryName, _ source: EntrySource, in folder: AccountFolder) -> Bool {
            self.files.createEntry(value, name, source, in: folder)
        }
        func removeEntry(_ name: EntryName, in folder: AccountFolder) { self.files.removeEntry(name, in: folder) }
        func removeAll(of folder: AccountFolder) { self.files.removeAll(of: folder) }
        func leftovers(in folder: AccountFolder) -> Set<String> { self.files.leftovers(in: folder) }
        func files(of names: [EntryName], in folder: AccountFolder) -> Set<String> {
            self.files.files(of: names, in: folder)
        }
        func removeLeftovers(_ files: Set<String>, except names: [EntryName], in folder: AccountFolder) {
            self.files.removeLeftovers(files, except: names, in: folder)
        }
    }

    private static let count: Int64 = 100

    private static func server() -> ListServer {
        let server = ListServer()
        for id in 1...Self.count { server.put(id, Samples.item(id, "payload \(id)")) }
        return server
    }

    /// After the first call, the badge needs no reads of stored entries. A page reads only the
    /// entries of its own notifications.
    @Test func aPageReadsOnlyItsOwnPayloads() async throws {
        let files = CountingStore()
        let server = Self.server()
        try await ProtocolPeer.run(server.script, store: PushClient.Store(entries: files)) { _, client in
            let nothing = try await client.sync(limit: 0).value
            #expect(nothing.notifications.isEmpty && nothing.hasMore)
            #expect(nothing.count == 100 && nothing.unreadCount == 100)
            #expect(files.count == 0, "a sync reads none of the files that it has written")
            var reads = files.count
            let page = try await client.cachedInbox(limit: 10)
            #expect(page.notifications.count == 10)
            #expect(files.count - reads == 10)
            reads = files.count
            #expect(await client.cachedBadge() == 100)
            #expect(files.count == reads)
            // After a change, the client reads only the changed notification.
            server.put(7, Samples.item(7, isRead: true))
            _ = try await client.sync(limit: 0)
            #expect(await client.cachedBadge() == 99)
            #expect(files.count - reads <= 2)
        }
    }

    @Test func pagesCoverTheInboxFromTheNewestOn() async throws {
        try await ProtocolPeer.run(Self.server().script) { _, client in
            let whole = try await client.sync().value
            #expect(whole.notifications.count == 100 && !whole.hasMore)
            var (seen, before): ([Int64], NotificationItem?) = ([], nil)
            while true {
                let page = try await client.cachedInbox(limit: 30, before: before)
                seen = page.notifications.map(\.id) + seen
                before = page.notifications.first
                if !page.hasMore { break }
            }
            #expect(seen == whole.notifications.map(\.id))
        }
    }

    /// Between the two pages, the user dismisses the notification at which the second page begins.
    @Test func aPageContinuesBeforeADismissedNotification() async throws {
        try await ProtocolPeer.run(Self.server().script) { _, client in
            let whole = try await client.sync().value.notifications
            let newest = try await client.cachedInbox(limit: 10)
            let first = try #require(newest.notifications.first)
            try await client.outbox.dismiss(first.id)
            let older = try await client.cachedInbox(limit: 10, before: first)
            #expect(older.count == 99)
            #expect(older.notifications.map(\.id) == whole.dropLast(10).suffix(10).map(\.id))
        }
    }
}
