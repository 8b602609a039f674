import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

/// Fetches whose reads share one SQL statement while the server's lease (its right to trust cached
/// credentials) ends.
@Suite(.timeLimit(.minutes(5))) struct LeaseEndFetchTests {
    /// One fetch reads the rows for all fetches that wait. It must read them even if the server
    /// already refuses this fetch itself.
    @Test func aRefusedFetchStillReadsForOthers() async throws {
        let storage = try StoreFixture(.postgreSQL)
        let fixture = try await ServerFixture(storage: storage)
        try await storage.addUser("zoe", role: .publisher, ServerFixture.passwordHash)
        let zoe = try await storage.user("zoe")
        try await storage.post(1, from: zoe, to: "username:zoe")
        let end = storage.now + 3600
        let added = try await storage.store.addToken(
            for: zoe.name,
            scopes: .all,
            expiresAt: end,
            by: nil,
            now: storage.now
        )
        let token = try #require(added)
        let fetch = { @Sendable () async throws -> HTTPResponse.Status in
            let field = ("Authorization", "Bearer \(token.text.exposed)")
            return try await fixture.send(.get, "\(Paths.notifications)/1", user: nil, headers: [field]).status
        }
        #expect(try await fetch() == .ok)
        // In each round, a fetch may fail if its read began before the end of the lease.
        for _ in 0..<2 {
            let lock = try storage.lock("recipient")
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await fetch() } }
                try await eventually { try lock.isAwaited() }
                storage.store.cluster?.lease.end(isFinal: false)
                try lock.release()
                // A fetch that begins after the end of the lease gets what the database contains
                // at that time.
                for try await status in group { #expect([.serviceUnavailable, .ok].contains(status)) }
            }
            try await eventually { try await fetch() == .ok }
        }
    }
}
