import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The results of the store after a disk has flipped a bit anywhere in the database.
@Suite(.timeLimit(.minutes(5))) struct BitFlipTests {
    /// A closed database and its contents.
    private struct Original {
        let bytes: Data
        let keyring: String
        let vault: Vault
        let users: [String: User]
        let tokens: [String: Fingerprint]
        let payloads: [NotificationID: Data]
        /// The users who can fetch each notification while the database is intact.
        var readers: [NotificationID: Set<String>] = [:]
    }

    private static let names = ["alice", "bob", "carol", "dave"]
    /// Sizes of payloads that are shorter than a page, that fill about one page, and that need
    /// several overflow pages.
    private static let sizes = [8, 300, 2000, 4060, 4096, 9000, 30_000]
    /// The number of flipped bits. `make e2e` sets a larger number.
    private static let count = ProcessInfo.processInfo.environment["SEALPOST_TEST_FLIPS"].flatMap { Int($0) } ?? 100

    @Test func aFlippedBitGivesTheRightPayloadOrNone() async throws {
        var original = try await Self.makeOriginal()
        let whole = try Self.storage(original.bytes, original.keyring)
        for id in original.payloads.keys {
            for name in Self.names {
                let callers = try await Self.callers(with: name, in: whole, original)
                guard try await !Self.collect(id, as: callers, in: whole, original).isEmpty else { continue }
                original.readers[id, default: []].insert(name)
            }
        }
        #expect(original.readers.values.allSatisfy { (1...3).contains($0.count) })
        var (collected, missed, refused) = (0, 0, 0)
        for number in 0..<Self.count {
            // The bits are evenly spread and slightly shifted, so that they reach all parts of
            // all pages.
            let bits = original.bytes.count * 8
            let bit = (bits / Self.count * number + Int.random(in: 0..<max(1, bits / Self.count))) % bits
            var bytes = original.bytes
            bytes[bytes.startIndex + bit / 8] ^= 1 << (bit % 8)
            guard let storage = try? Self.storage(bytes, original.keyring) else {
                refused += 1
                continue
            }
            for name in Self.names {
                let callers = try await Self.callers(with: name, in: storage, original)
                for (id, payload) in original.payloads {
                    let found = try await Self.collect(id, as: callers, in: storage, original)
                    let mayRead = original.readers[id]?.contains(name) ?? false
                    #expect(found.isEmpty || mayRead && found == [payload], "bit \(bit): \(name) got \(id)")
                    if found.isEmpty, mayRead { missed += 1 }
                    collected += found.count
                }
            }
            await Self.exercise(storage, original)
            await storage.store.close()
        }
        #expect(collected > 0)
        // At least one flipped bit must have damaged something that the test reads.
        #expect(missed + refused > 0)
    }

    // MARK: - Private

    private static func storage(_ bytes: Data, _ keyring: String) throws -> StoreFixture {
        let folder = try TemporaryFolder()
        try bytes.write(to: URL(fileURLWithPath: folder.file("test.db")))
        return try StoreFixture(in: folder, keyring: keyring)
    }

    /// Returns the users as whom a server would authenticate a caller. The caller has the token
    /// and the password of the user `name`, and tries the password with each user's name.
    private static func callers(with name: String, in storage: StoreFixture, _ original: Original) async throws
        -> [User]
    {
        var callers: [User] = []
        if let token = original.tokens[name],
            let found = try? await storage.reader.user(withToken: token, now: storage.now)
        {
            callers.append(found.user)
        }
        for username in self.names.compactMap({ Username($0) }) {
            guard let user = try? await storage.reader.user(named: username) else { continue }
            if (try? await storage.reader.password(of: user)) == self.password(of: name) { callers.append(user) }
        }
        return callers
    }

    private static func password(of name: String) -> PasswordHash {
        PasswordHash(phc: "that of \(name)")
    }

    /// Fetches as a server does: first the notification for the caller, and then its payload.
    private static func collect(
        _ id: NotificationID,
        as callers: [User],
        in storage: StoreFixture,
        _ original: Original
    ) async throws -> Set<Data> {
        var payloads: Set<Data> = []
        for user in callers {
            // An error is permitted, since it reveals nothing.
            let found = try? await storage.reader.notification(
                id,
                for: user.id,
                alsoAsSender: true,
                now: storage.now
            )
            guard let found,
                let payload = try? original.vault.open(
                    found.sealedPayload,
                    in: .payload(id, sender: found.sender)
                )
            else { continue }
            payloads.insert(payload)
        }
        return payloads
    }

    /// Calls the other functions that read the rows. Each call may throw an error, but must not
    /// crash.
    private static func exercise(_ storage: StoreFixture, _ original: Original) async {
        for (name, user) in original.users {
            if let name = Username(name), let found = try? await storage.reader.user(named: name) {
                _ = try? await storage.reader.password(of: found)
            }
            _ = try? await storage.reader.devices(ofUser: user.id)
        }
        for id in original.payloads.keys.prefix(5) {
            _ = try? await storage.reader.deliveries(of: id, after: 0, limit: 100)
            _ = try? await storage.reader.countDeliveries(of: id, after: 0, limit: 100)
        }
        _ = try? await storage.reader.tokens(of: nil, after: nil, limit: 100, now: storage.now)
        _ = try? await storage.reader.tallies().values.map(\.pending)
        _ = try? await storage.store.expandFanout(page: 1, now: storage.now)
        _ = try? await storage.lease()
        _ = try? await storage.store.deleteExpired(now: storage.now + 10_000_000, page: 100)
    }

    private static func makeOriginal() async throws -> Original {
        let keyring = Keyring.generateText()
        let storage = try StoreFixture(keyring: keyring)
        let vault = storage.store.vault
        var users: [String: User] = [:]
        var tokens: [String: Fingerprint] = [:]
        for name in Self.names {
            let username = try #require(Username(name))
            let password = Self.password(of: name)
            _ = try await storage.store.addUser(username, role: .publisher, password: password, now: storage.now)
            let user = try await storage.user(name)
            users[name] = user
            let token = try await storage.store.addToken(
                for: user.name,
                scopes: .fetch,
                expiresAt: storage.now + 86_400,
                now: storage.now
            )
            tokens[name] = try #require(token).fingerprint
            try await storage.addDevice(of: user, handle: "handle-of-\(name)", tags: ["news"])
        }
        var payloads: [NotificationID: Data] = [:]
        for number in 0..<28 {
            let id = try #require(NotificationID(rawValue: .random(in: 1..<1 << 31)))
            let recipient = Self.names[number % 4]
            let sender = Self.names[number / 4 % 4]
            let payload = Data((0..<Self.sizes[number % Self.sizes.count]).map { _ in .random(in: 0 ... .max) })
            let isBroadcast = number % 14 == 13
            let outcome = try await storage.store.post(
                NewNotification(
                    id: id,
                    sender: try #require(users[sender]).id,
                    sealedPayload: try vault.seal(payload, in: .payload(id, sender: #require(users[sender]).id)),
                    audience: storage.store.hashed(
                        Audience([try TagExpression(isBroadcast ? "news" : "username:\(recipient)")])
                    ),
                    createdAt: storage.now,
                    expiresAt: storage.now + 3600
                ),
                within: nil,
                page: isBroadcast ? 2 : nil
            )
            try #require(outcome != .idTaken)
            payloads[id] = payload
        }
        await storage.store.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: storage.folder.file("test.db")))
        return Original(
            bytes: bytes,
            keyring: keyring,
            vault: vault,
            users: users,
            tokens: tokens,
            payloads: payloads
        )
    }
}
