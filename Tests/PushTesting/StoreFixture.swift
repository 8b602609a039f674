package import Foundation
package import PushCore
package import PushSQLite
package import PushStore

/// A new store in its own folder, with methods that fill it for tests.
package struct StoreFixture: Sendable {
    private let kind: StoreKind
    package let folder: TemporaryFolder
    package let keyring: Keyring
    package let store: any Store
    package let reader: any StoreReader
    package let clock = ManualClock()

    /// Opens the store in `folder`, or makes a new one if the folder has none. `keyring` must be
    /// the keyring with which the store was made.
    package init(
        _ kind: StoreKind = .current,
        in folder: TemporaryFolder? = nil,
        keyring: String = Keyring.generateText(),
        options: StoreOptions = StoreOptions()
    ) throws {
        try self.init(kind, in: folder, keyring: Keyring(text: keyring), options: options)
    }

    private init(
        _ kind: StoreKind,
        in folder: TemporaryFolder?,
        keyring: Keyring,
        options: StoreOptions = StoreOptions()
    ) throws {
        self.kind = kind
        self.folder = try folder ?? TemporaryFolder()
        self.keyring = keyring
        var options = options
        if options.cluster.dayChain == nil {
            options.cluster.dayChain = MemoryDayChain.shared(by: self.folder, from: self.clock.now)
        }
        self.store = try kind.place(self.folder).open(self.keyring, options)
        self.reader = try self.store.makeReader()
    }

    /// Makes a fixture for a store that the test has opened itself.
    package init(_ store: SQLiteStore, in folder: TemporaryFolder, keyring: Keyring) throws {
        self.kind = .sqlite
        self.folder = folder
        self.keyring = keyring
        self.store = store
        self.reader = try store.makeReader()
    }

    package var now: Date { self.clock.now }

    /// The `StorePlace` of the store. Commands use it to inspect the store without opening it.
    package var place: any StorePlace {
        get throws { try self.kind.place(self.folder) }
    }

    /// Opens the store again after it was closed.
    package func reopened(options: StoreOptions = StoreOptions()) throws -> StoreFixture {
        try StoreFixture(self.kind, in: self.folder, keyring: self.keyring, options: options)
    }

    /// The store as an SQLite store, for tests of features that only SQLite has.
    package var sqlite: SQLiteStore {
        guard let store = self.store as? SQLiteStore else { preconditionFailure("the store is of another kind") }
        return store
    }

    /// Makes a user with an unknown password, because hashing a password takes long.
    @discardableResult
    package func addUser(_ name: String, role: Role = .device) async throws -> User {
        guard let username = Username(name) else { throw Missing("\(name) is no name") }
        _ = try await self.store.addUser(username, role: role, password: PasswordHash(phc: "none"), now: self.now)
        return try await self.user(name)
    }

    /// Makes users `user<number>` from `first` on. For each user, the audit gets a record that
    /// this user has added a user `canary<number>`.
    package func addUsersWithRecords(_ count: Int, from first: Int = 0) async throws {
        for number in first..<first + count {
            guard let name = Username("user\(number)") else { throw Missing("user\(number) is no name") }
            let actor = AuditRecord.Actor(name: name, token: nil, client: "192.0.2.1", request: "r\(number)")
            let record = AuditRecord(.addUser, of: "canary\(number)", by: actor, at: self.now)
            let hash = PasswordHash(phc: "none")
            guard try await self.store.addUser(name, role: .device, password: hash, by: record, now: self.now) else {
                throw Missing("\(name) was there before")
            }
        }
    }

    package func user(_ name: String) async throws -> User {
        guard let username = Username(name), let user = try await self.reader.user(named: username) else {
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
        tags: [String] = [],
        isShared: Bool = false
    ) async throws -> RegistrationID {
        guard let deviceHandle = DeviceHandle(handle) else { throw Missing("\(handle) is no handle") }
        let id = try await self.store.requestRegistration(ofUser: user.id, handle: nil, now: self.now)
        let registration = DeviceRegistration(
            platform: Platform(stored: platform),
            lane: Lane(Platform(stored: platform)),
            handle: deviceHandle,
            tags: Set(tags.compactMap { Tag($0) }),
            isShared: isShared
        )
        _ = try await self.store.register(registration, as: id, for: user, now: self.now)
        return id
    }

    /// Issues to the user a registration id that the test has chosen, unless the store has issued
    /// the id to any user before.
    package func issue(_ id: String, to user: User) async throws {
        guard let id = RegistrationID(id) else { throw Missing("\(id) is no id") }
        // If the id was issued before, a constraint of the table makes this fail, and the id keeps
        // its owner.
        _ = try? await self.store.requestRegistration(ofUser: user.id, handle: nil, as: id, now: self.now)
    }

    /// Registers a device for APNs under an id that the test has chosen. If the id was not issued
    /// before, issues it to the user first.
    package func register(
        _ id: String,
        handle: String,
        of user: User,
        within bounds: StorageBounds? = nil
    ) async throws -> RegisterOutcome {
        try await self.issue(id, to: user)
        guard let registrationID = RegistrationID(id) else { throw Missing("\(id) is no id") }
        guard let deviceHandle = DeviceHandle(handle) else { throw Missing("\(handle) is no handle") }
        let registration = DeviceRegistration(
            platform: Platform("apns"),
            lane: Lane(Platform("apns")),
            handle: deviceHandle,
            tags: []
        )
        return try await self.store.register(
            registration,
            as: registrationID,
            for: user,
            within: bounds,
            now: self.now
        )
    }

    /// Stores a notification with the encrypted payload `payload <number>`.
    @discardableResult
    package func post(
        _ number: Int64,
        from sender: User,
        to expressions: String...,
        platforms: [String]? = nil,
        isReadOnce: Bool = false,
        isEndToEnd: Bool = false,
        collapseID: String? = nil,
        alert: PushAlert? = nil,
        once request: IdempotentRequest? = nil,
        within bounds: StorageBounds? = nil,
        expiresIn: TimeInterval = 3600,
        sendAt: Date? = nil,
        page: Int? = nil
    ) async throws -> PostOutcome {
        guard let id = NotificationID(rawValue: number) else { throw Missing("\(number) is no id") }
        let expiresAt = (sendAt ?? self.now) + expiresIn
        let until = SealedUntil(expiresAt: expiresAt, isReadOnce: isReadOnce, now: self.now)
        let audience = Audience(
            try expressions.map { try TagExpression($0) },
            platforms: platforms.map { Set($0.map { Platform($0) }) }
        )
        let sealedAlert = try alert.map {
            try self.store.vault.seal(JSONEncoder().encode($0), in: .alert(id, sender: sender.id), until: until)
        }
        return try await self.store.post(
            NewNotification(
                id: id,
                sender: sender.id,
                sealedPayload: try self.store.vault.seal(
                    Data("payload \(number)".utf8),
                    in: .payload(id, sender: sender.id),
                    until: until
                ),
                audience: self.store.hashed(audience),
                createdAt: self.now,
                expiresAt: expiresAt,
                options: NotificationOptions {
                    $0.isReadOnce = isReadOnce
                    $0.isEndToEnd = isEndToEnd
                    $0.collapseID = collapseID
                    $0.sendAt = sendAt
                    $0.sealedAlert = sealedAlert
                    $0.request = request
                }
            ),
            within: bounds,
            page: page
        )
    }

    /// Stores a notification for an audience.
    @discardableResult
    package func post(
        _ id: NotificationID,
        from sender: User,
        to audience: Audience,
        page: Int? = nil
    ) async throws -> PostOutcome {
        try await self.store.post(
            NewNotification(
                id: id,
                sender: sender.id,
                sealedPayload: try self.store.vault.seal(
                    Data("payload \(id)".utf8),
                    in: .payload(id, sender: sender.id)
                ),
                audience: self.store.hashed(audience),
                createdAt: self.now,
                expiresAt: self.now + 3600
            ),
            within: nil,
            page: page
        )
    }

    /// Leases due pushes in a platform's default lane (queue of pushes), first those of
    /// notifications to single users.
    package func lease(
        _ platform: String = "apns",
        limit: Int = 100,
        interval: Duration? = nil
    ) async throws -> [LeasedDelivery] {
        var leased: [LeasedDelivery] = []
        for queue in Queue.allCases {
            let request = LeaseRequest(
                limit - leased.count,
                from: Lane(Platform(platform)),
                queue,
                interval: interval
            )
            leased += try await self.store.lease(request, now: self.now)
        }
        return leased
    }

    /// Returns the time at which the next push in a platform's default lane (queue of pushes) is
    /// due.
    package func nextDue(_ platform: String = "apns") async throws -> Date? {
        var due: [Date] = []
        for queue in Queue.allCases {
            if let date = try await self.reader.nextDue(in: Lane(Platform(platform)), queue) { due.append(date) }
        }
        return due.min()
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

extension StoreOptions {
    /// Options of one of several servers, however busy the machine is: the server waits long, and
    /// fences no other server.
    package static var patient: StoreOptions {
        var options = StoreOptions()
        options.writeTimeout = .seconds(120)
        options.cluster.fencesServers = false
        return options
    }

    /// Options of a server that neither renews its lease nor fences (excludes) others.
    package static var silent: StoreOptions {
        var options = StoreOptions.patient
        options.cluster.mayExchange = { false }
        return options
    }

    /// Options with which the store keeps events of all kinds.
    package static var withEvents: StoreOptions {
        var options = StoreOptions()
        options.events = Set(PushEvent.Kind.allCases)
        return options
    }
}
