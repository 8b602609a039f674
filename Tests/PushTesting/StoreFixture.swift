package import Foundation
package import PushCore
package import PushStore

/// A new store in a folder of its own, with what tests need to fill it.
package struct StoreFixture: Sendable {
    package let folder: TemporaryFolder
    package let keyring: Keyring
    package let store: Store
    package let reader: Reader
    package let clock = ManualClock()

    /// Opens the store that is in the folder, if there is one; the keyring is then the one that it was made with.
    package init(in folder: TemporaryFolder? = nil, keyring: String = Keyring.generateText()) throws {
        self.folder = try folder ?? TemporaryFolder()
        self.keyring = try Keyring(text: keyring)
        self.store = try Store(path: self.folder.file("test.db"), keyring: self.keyring)
        self.reader = try self.store.makeReader()
    }

    /// Fills a store that a test has opened in its own way.
    package init(_ store: Store, in folder: TemporaryFolder, keyring: Keyring) throws {
        self.folder = folder
        self.keyring = keyring
        self.store = store
        self.reader = try store.makeReader()
    }

    package var now: Date { self.clock.now }

    /// Makes a user whose password nobody knows; hashing one takes long.
    @discardableResult
    package func addUser(_ name: String, role: Role = .device) async throws -> User {
        guard let username = Username(name) else { throw Missing("\(name) is no name") }
        _ = try await self.store.addUser(username, role: role, password: PasswordHash(phc: "none"), now: self.now)
        return try self.user(name)
    }

    package func user(_ name: String) throws -> User {
        guard let username = Username(name), let user = try self.reader.user(named: username) else {
            throw Missing("user \(name) does not exist")
        }
        return user
    }

    /// Registers a device under a new id.
    @discardableResult
    package func addDevice(
        of user: User,
        platform: String = "apns",
        handle: String,
        tags: [String] = []
    ) async throws -> RegistrationID {
        guard let deviceHandle = DeviceHandle(handle) else { throw Missing("\(handle) is no handle") }
        let id = try await self.store.requestRegistration(ofUser: user.id, handle: nil, now: self.now)
        let registration = DeviceRegistration(
            platform: Platform(platform),
            lane: Lane(Platform(platform)),
            handle: deviceHandle,
            tags: Set(tags.compactMap { Tag($0) })
        )
        _ = try await self.store.register(registration, as: id, for: user, now: self.now)
        return id
    }

    /// Stores a notification with the payload `payload <number>`, sealed.
    @discardableResult
    package func post(
        _ number: Int64,
        from sender: User,
        to expressions: String...,
        platforms: [String]? = nil,
        isReadOnce: Bool = false,
        collapseID: String? = nil,
        once request: IdempotentRequest? = nil,
        within bounds: StorageBounds? = nil,
        expiresIn: TimeInterval = 3600,
        page: Int = Store.fanoutPage
    ) async throws -> Store.PostOutcome {
        guard let id = NotificationID(rawValue: number) else { throw Missing("\(number) is no id") }
        return try await self.store.post(
            NewNotification(
                id: id,
                sender: sender.id,
                sealedPayload: try self.store.vault.seal(
                    Data("payload \(number)".utf8),
                    in: .payload(id, sender: sender.id)
                ),
                audience: Audience(
                    try expressions.map { try TagExpression($0) },
                    platforms: platforms.map { Set($0.map { Platform($0) }) }
                ),
                isStoredByClients: true,
                isReadOnce: isReadOnce,
                priority: .high,
                collapseID: collapseID,
                createdAt: self.now,
                expiresAt: self.now + expiresIn
            ),
            once: request,
            within: bounds,
            page: page
        )
    }

    /// Leases what is due on a platform's own lane, single notices first.
    package func claim(
        _ platform: String = "apns",
        limit: Int = 100,
        interval: Duration? = nil
    ) async throws -> [LeasedDelivery] {
        var leased: [LeasedDelivery] = []
        for queue in Queue.allCases {
            let claim = Store.Claim(
                limit - leased.count,
                from: Lane(Platform(platform)),
                queue,
                interval: interval
            )
            leased += try await self.store.claim(claim, now: self.now)
        }
        return leased
    }

    /// When the next push is due on a platform's own lane.
    package func nextDue(_ platform: String = "apns") throws -> Date? {
        try Queue.allCases.compactMap { try self.reader.nextDue(in: Lane(Platform(platform)), $0) }.min()
    }

    package func settle(_ delivery: LeasedDelivery, as settlement: Settlement) async throws {
        try await self.store.settle([(delivery, settlement)], now: self.now)
    }

    package struct Missing: Error {
        package let what: String

        package init(_ what: String) {
            self.what = what
        }
    }
}
