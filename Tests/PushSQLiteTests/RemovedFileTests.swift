import Foundation
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushSQLite

/// The database's file or its lock file is removed or replaced while the store is open. SQLite
/// still writes to the old file, which is lost once the process ends. And without the lock file,
/// another server could write the same database.
@Suite(.timeLimit(.minutes(5))) struct RemovedFileTests {
    /// A post notices it, and so does `/readyz`, which asks for `failure`.
    @Test(arguments: [("", true), ("", false), (".lock", true), (".lock", false)], [true, false])
    func noFurtherPostIsAcknowledged(file: (end: String, isReplaced: Bool), isNoticedByPost: Bool) async throws {
        let reports = Mutex<[StoreEvent]>([])
        var options = StoreOptions()
        options.onEvent = { event in
            if case .broken = event { reports.withLock { $0.append(event) } }
        }
        let fixture = try StoreFixture(.sqlite, options: options)
        let alice = try await fixture.addUser("alice")
        try await fixture.post(1, from: alice, to: "username:alice")
        #expect(fixture.store.failure == nil)
        let path = fixture.sqlite.path + file.end
        try FileManager.default.removeItem(atPath: path)
        if file.isReplaced { try Data("another file".utf8).write(to: URL(fileURLWithPath: path)) }
        if !isNoticedByPost { #expect(fixture.store.failure != nil) }
        let reason = "the file \(path) was removed or replaced while the server ran"
        for number in Int64(2)...3 {
            let error = await #expect(throws: StoreError.self) {
                try await fixture.post(number, from: alice, to: "username:alice")
            }
            #expect("\(try #require(error))" == "\(StoreError.broken(reason: reason))")
        }
        #expect(fixture.store.failure == reason)
        #expect(reports.withLock { $0 } == [.broken(reason: reason)])
        await fixture.store.close()
    }
}
