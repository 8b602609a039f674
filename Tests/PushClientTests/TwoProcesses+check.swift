import ClientPeers
import Foundation
import PushAPI
import Testing

@testable import PushClient

extension TwoProcesses {
    /// Checks the invariants that must hold, no matter when the processes were killed.
    mutating func check() throws {
        let account = self.client.records.account
        let snapshot = try account.read()
        let cached = try Dictionary(
            uniqueKeysWithValues: snapshot.index.names.map { ($0.id, try #require(try account.item($0), "no content")) }
        )
        // This test loses no file, so no client has a reason to read the whole list again.
        #expect(snapshot.index.cursor != nil || !self.hasBegun, "the cursor is lost")
        try self.checkSaid(snapshot)
        guard let cursor = snapshot.index.cursor else { return }
        self.begin()
        self.server.change { state in
            Self.checkDate(snapshot.index, cursor, state)
            Self.checkCached(cached, snapshot.index, cursor, state)
        }
    }

    /// Checks that no process has undone a recorded step of the other.
    private func checkSaid(_ snapshot: Account.Snapshot) throws {
        let visible = snapshot.index.entries.keys.filter { snapshot.index.pending[$0] != .dismiss }
        #expect(self.said.dismissed.isDisjoint(with: visible), "one was dismissed, and is there")
        let waiting = Set(snapshot.index.outbox.map(\.key.uuidString))
        let lost = self.server.change { state in
            self.said.sent.filter { state.sent[$0] == nil && !waiting.contains($0) }
        }
        #expect(lost.isEmpty, "sent, and neither here nor there: \(lost)")
        for name in Self.names {
            #expect(snapshot.index.mark(of: name) >= self.said.confirmed[name] ?? 0, "a commit of \(name) is lost")
            // The ids that the consumer shows, plus the changes that it has not confirmed yet,
            // must result in exactly the ids of the inbox.
            let changes = InboxChanges(snapshot, since: snapshot.index.mark(of: name), consumer: name)
            let shown = changes.isEverything ? [] : try self.shown(by: name) ?? []
            let all = shown.subtracting(changes.deleted).union(changes.arrived)
            #expect(all == Set(snapshot.index.entries.keys), "what \(name) shows")
        }
    }

    /// Checks that the pages up to the cursor include all changes that the server made before the
    /// inbox's date.
    private static func checkDate(_ index: AccountIndex, _ cursor: String, _ state: ModelServer.State) {
        guard let date = index.syncedAt else { return }
        for (id, known) in state.changed(after: ModelServer.version(of: cursor)) where known.changedAt < date {
            Issue.record("a wrong date: \(id)")
        }
    }

    private static func checkCached(
        _ cached: [Int64: CachedItem],
        _ index: AccountIndex,
        _ cursor: String,
        _ state: ModelServer.State
    ) {
        let version = ModelServer.version(of: cursor)
        for id in state.undeleted {
            // A notification that has expired may already be deleted, so it does not count.
            guard let known = state.entries[id], known.version <= version, known.expiresAt > Date() else { continue }
            if cached[id] == nil { Issue.record("lost: \(id) at \(cursor)") }
        }
        for (id, cached) in cached {
            guard let known = state.entries[id] else {
                Issue.record("invented: \(id)")
                continue
            }
            if known.version <= version, known.isDeleted { Issue.record("not deleted: \(id)") }
            guard let date = index.syncedAt else { continue }
            // The date comes from a signature, which has whole seconds, so a second of difference
            // is allowed.
            if known.expiresAt < date - 1 { Issue.record("not ended: \(id)") }
            guard known.changedAt < date else { continue }
            #expect(cached.item.isRead == known.isRead && cached.item.payload?.text == known.payload, "as of the date")
        }
    }

    /// Checks that, on a good network, every notification and every task finally arrives exactly
    /// once.
    mutating func end() async throws {
        let client = self.client
        #expect(try await client.sync().date == nil)
        // The test waits until the notifications that are about to expire have expired everywhere.
        let ends = self.server.change { state in state.undeleted.compactMap { state.entries[$0]?.expiresAt } }
        if let last = ends.filter({ $0.timeIntervalSinceNow < 60 }).max() {
            try await Task.sleep(for: .seconds(max(0, last.timeIntervalSinceNow) + 1))
        }
        let inbox = try await client.sync(limit: .max)
        #expect(inbox.date == nil)
        try self.check()
        try await self.checkOutbox(client)
        let live = self.server.change { state in Set(state.liveIDs) }
        #expect(Set(inbox.value.notifications.map(\.id)) == live)
        #expect(inbox.value.notifications.count == live.count)
        let account = client.records.account
        try account.sweep()
        let names = try account.read().index.names
        let leftovers = account.store.leftovers(in: account.folder)
        #expect(leftovers.isSubset(of: account.store.files(of: names, in: account.folder)), "no file is left behind")
    }

    /// Checks that each task has reached the server once.
    private func checkOutbox(_ client: PushClient) async throws {
        #expect(try await client.outbox.count == 0)
        #expect(try await client.outbox.failures == [])
        self.server.change { state in
            let texts = state.entries.values.map(\.payload)
            #expect(Set(texts).count == texts.count, "sent twice")
            #expect(self.said.sent.isSubset(of: state.sent.keys), "never sent")
            #expect(self.said.dismissed.isDisjoint(with: state.liveIDs), "never dismissed")
            let unread = self.said.read.intersection(state.liveIDs).subtracting(state.marked)
            #expect(unread.isEmpty, "never marked as read")
        }
    }
}
