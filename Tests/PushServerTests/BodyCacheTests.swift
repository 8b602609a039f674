import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer
@testable import PushStore

/// Tests the cache of decrypted bodies alone, without a server.
@Suite(.timeLimit(.minutes(5))) struct BodyCacheTests {
    private let cache = BodyCache(loopCount: 2)
    private let id: NotificationID

    init() throws {
        self.id = try #require(NotificationID(rawValue: 7))
    }

    private func notification(
        sealed: String = "sealed",
        isReadOnce: Bool = false,
        readAt: Date? = nil,
        expiresAt: Date = .distantFuture
    ) throws -> StoredNotification {
        StoredNotification(
            sender: 1,
            app: AppName(stored: nil),
            sealedPayload: Array(sealed.utf8),
            isStoredByClients: true,
            isReadOnce: isReadOnce,
            isRecipient: true,
            readAt: readAt,
            fetchedAt: nil,
            leasedUntil: nil,
            createdAt: Date(timeIntervalSince1970: 1),
            expiresAt: expiresAt,
            changedAt: Date(timeIntervalSince1970: 1)
        )
    }

    /// Fetches a notification `times` times from the cache. Returns the number of decryptions that
    /// the cache requested.
    private func decryptions(
        _ notification: StoredNotification,
        times: Int,
        on loop: Int = 0,
        id: NotificationID? = nil,
        body: String = "body"
    ) -> Int {
        var count = 0
        for _ in 0..<times {
            let found = self.cache.body(of: id ?? self.id, notification, on: loop) {
                count += 1
                return Array(body.utf8)
            }
            #expect(String(decoding: found, as: UTF8.self) == body)
        }
        return count
    }

    @Test func theSecondFetchFillsTheCacheOfItsLoop() throws {
        #expect(self.decryptions(try self.notification(), times: 1) == 1)
        #expect(self.cache.count == 0)
        #expect(self.decryptions(try self.notification(), times: 10) == 1)
        #expect(self.cache.count == 1)
        #expect(self.decryptions(try self.notification(), times: 10, on: 1) == 2)
    }

    @Test func aChangedRowIsDecryptedAgain() throws {
        #expect(self.decryptions(try self.notification(), times: 3) == 2)
        #expect(self.decryptions(try self.notification(sealed: "Sealed"), times: 1, body: "other") == 1)
        #expect(self.decryptions(try self.notification(expiresAt: .now), times: 1, body: "later") == 1)
        #expect(self.decryptions(try self.notification(sealed: "seal"), times: 1, body: "shorter") == 1)
    }

    @Test func readNotificationsAndReadOncePayloadsAreNotCached() throws {
        #expect(self.decryptions(try self.notification(isReadOnce: true), times: 5) == 5)
        #expect(self.decryptions(try self.notification(readAt: .now), times: 5) == 5)
        #expect(self.cache.count == 0)
    }

    @Test func aLongBodyIsNotCached() throws {
        let body = String(repeating: "x", count: BodyCache.longest)
        #expect(self.decryptions(try self.notification(), times: 3, body: body) == 2)
        #expect(self.decryptions(try self.notification(sealed: "other"), times: 3, body: body + "x") == 3)
    }

    @Test func aNotificationOfTheSameSlotReplacesTheEntry() throws {
        let other = try #require(NotificationID(rawValue: 7 + Int64(BodyCache.slotCount)))
        let beside = try #require(NotificationID(rawValue: 8))
        #expect(self.decryptions(try self.notification(), times: 3) == 2)
        #expect(self.decryptions(try self.notification(), times: 3, id: beside) == 2)
        #expect(self.cache.count == 2)
        #expect(self.decryptions(try self.notification(), times: 1, id: other) == 1)
        #expect(self.cache.count == 1)
        #expect(self.decryptions(try self.notification(), times: 1) == 1)
    }

    @Test func anEntryIsEvictedAtTheSecondCall() throws {
        _ = self.decryptions(try self.notification(), times: 2)
        self.cache.evictOld()
        #expect(self.decryptions(try self.notification(), times: 1) == 0)
        self.cache.evictOld()
        #expect(self.cache.count == 0)
        #expect(self.decryptions(try self.notification(), times: 1) == 1)
    }

    @Test func evictionOfANotificationReachesAllLoops() throws {
        for loop in 0..<2 { _ = self.decryptions(try self.notification(), times: 2, on: loop) }
        self.cache.evict(try #require(NotificationID(rawValue: 7 + Int64(BodyCache.slotCount))))
        #expect(self.cache.count == 2)
        self.cache.evict(self.id)
        #expect(self.cache.count == 0)
    }

    @Test func aPayloadThatCannotBeDecryptedThrowsEachTime() throws {
        for _ in 0..<3 {
            #expect(throws: VaultError.unreadable) {
                try self.cache.body(of: self.id, self.notification(), on: 0) { () throws(VaultError) in
                    throw .unreadable
                }
            }
        }
        #expect(self.cache.count == 0)
    }
}

/// Tests the cache of decrypted bodies as a part of a server, with each kind of database reader.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct HerdFetchTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func payload(_ path: String, user: String) async throws -> JSONValue? {
        let response = try await self.fixture.send(.get, path, user: user)
        return response.status == .ok ? try response.json["Payload"] : nil
    }

    @Test func onlyRecipientsGetACachedBody() async throws {
        let path = try await self.fixture.post(#"{"Payload":"x","To":["username:alice","username:bob"]}"#)
        for _ in 0..<4 {
            for user in ["alice", "bob"] { #expect(try await self.payload(path, user: user) == .string("x")) }
            #expect(try await self.payload(path, user: "ada") == nil)
        }
        #expect(self.fixture.server.bodies.count > 0)
    }

    @Test func aRecallEvictsAtOnce() async throws {
        let path = try await self.fixture.post(#"{"Payload":"x","To":["username:alice"]}"#)
        for _ in 0..<4 { #expect(try await self.payload(path, user: "alice") == .string("x")) }
        #expect(self.fixture.server.bodies.count > 0)
        #expect(try await self.fixture.send(.delete, path, user: "paul").status == .noContent)
        #expect(self.fixture.server.bodies.count == 0)
        #expect(try await self.payload(path, user: "alice") == nil)
    }

    @Test func anExpiredNotificationIsNotFound() async throws {
        let path = try await self.fixture.post(#"{"Payload":"x","To":["username:alice"],"ExpiresIn":60}"#)
        for _ in 0..<4 { #expect(try await self.payload(path, user: "alice") == .string("x")) }
        self.fixture.storage.clock.advance(by: 61)
        #expect(try await self.payload(path, user: "alice") == nil)
    }
}
