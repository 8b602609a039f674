import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The devices that the end of a session unregisters, and the devices that stay.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct DeviceSessionTests {
    private let fixture: StoreFixture
    private let alice: User
    private var store: any Store { self.fixture.store }

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private static let gone = RegisterOutcome.gone(reason: "the session that registered it has ended")

    private func addSession(of user: User? = nil, lifetime: TimeInterval = 1000) async throws -> BearerToken {
        let now = self.fixture.now
        let session = try await self.store.addSession(
            for: user ?? self.alice,
            scopes: .all,
            expiresAt: now + lifetime,
            now: now
        )
        return try #require(session).token
    }

    private func addToken() async throws -> BearerToken {
        let now = self.fixture.now
        let token = try await self.store.addToken(for: self.alice.name, scopes: .all, expiresAt: now + 1000, now: now)
        return try #require(token)
    }

    /// Registers a device under an id of the user. Issues the id to the user first, if it does not
    /// exist.
    private func register(
        _ id: String,
        handle: String = "abc",
        of user: User? = nil,
        with token: BearerToken?,
        isShared: Bool = false
    ) async throws -> RegisterOutcome {
        let user = user ?? self.alice
        try await self.fixture.issue(id, to: user)
        let platform = Platform("apns")
        let registration = DeviceRegistration(
            platform: platform,
            lane: Lane(platform),
            handle: try #require(DeviceHandle(handle)),
            tags: [],
            isShared: isShared
        )
        return try await self.store.register(
            registration,
            as: #require(RegistrationID(id)),
            for: user,
            with: token?.prefix,
            now: self.fixture.now
        )
    }

    private func devices(of user: User? = nil) async throws -> [String] {
        try await self.fixture.reader.devices(ofUser: (user ?? self.alice).id).map(\.id.description).sorted()
    }

    private func revoke(_ token: BearerToken, by record: AuditRecord? = nil) async throws {
        let ended = try await self.store.revokeToken(token.prefix, by: record, now: self.fixture.now)
        #expect(ended == token.fingerprint)
    }

    @Test func aDeviceEndsWithTheSessionThatHasRegisteredIt() async throws {
        let (session, other) = (try await self.addSession(), try await self.addSession())
        let given = try await self.addToken()
        for (id, token) in [
            ("phone", session), ("pad", session), ("other", other), ("given", given), ("password", nil),
        ] {
            #expect(try await self.register(id, handle: id, with: token) == .registered(moved: 0))
        }
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        let record = AuditRecord(.revokeToken, of: "alice", at: self.fixture.now)
        try await self.revoke(session, by: record)
        #expect(try await self.devices() == ["given", "other", "password"])
        for id in ["phone", "pad"] {
            #expect(try await self.register(id, handle: id, with: other) == Self.gone)
        }
        // The queued pushes of the unregistered devices are not sent.
        let handles = try await self.fixture.lease().map(\.push.handle).sorted()
        #expect(handles == ["given", "other", "password"])
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(entries.prefix(3).map(\.action) == ["token.revoke", "device.unregister", "device.unregister"])
        let ended = entries.filter { $0.action == "device.unregister" }
        #expect(
            ended.map { "\($0.subject) \($0.detail)" }.sorted() == ["pad with its session", "phone with its session"]
        )
        #expect(try await self.fixture.reader.auditFault() == nil)
    }

    @Test func aDeviceBelongsToTheSessionThatHasRegisteredItLast() async throws {
        let (first, second) = (try await self.addSession(), try await self.addSession())
        for token in [first, second] {
            #expect(try await self.register("phone", with: token) == .registered(moved: 0))
        }
        try await self.revoke(first)
        #expect(try await self.devices() == ["phone"])
        #expect(try await self.register("phone", handle: "new", with: second) == .registered(moved: 0))
        try await self.revoke(second)
        #expect(try await self.devices().isEmpty)
    }

    @Test func aDeviceThatIsRegisteredWithThePasswordBelongsToNoSession() async throws {
        let (session, given) = (try await self.addSession(), try await self.addToken())
        #expect(try await self.register("phone", with: session) == .registered(moved: 0))
        #expect(try await self.register("phone", with: nil) == .registered(moved: 0))
        try await self.revoke(session)
        #expect(try await self.register("phone", with: given) == .registered(moved: 0))
        try await self.revoke(given)
        #expect(try await self.devices() == ["phone"])
    }

    /// Either an administrator or the user sets the new password.
    @Test(arguments: [true, false])
    func aNewPasswordEndsTheDevicesOfAllSessions(isByAdministrator: Bool) async throws {
        let bob = try await self.fixture.addUser("bob")
        let (first, second) = (try await self.addSession(), try await self.addSession())
        let (given, bobs) = (try await self.addToken(), try await self.addSession(of: bob))
        for (id, token) in [("phone", first), ("pad", second), ("given", given), ("password", nil)] {
            #expect(try await self.register(id, handle: id, with: token) == .registered(moved: 0))
        }
        #expect(try await self.register("bobs", handle: "bobs", of: bob, with: bobs) == .registered(moved: 0))
        let hash = PasswordHash(phc: "new")
        if isByAdministrator {
            // The same change gives a higher role, which also ends the sessions. The new password
            // must nevertheless unregister the devices of these sessions.
            let outcome = try await self.store.changeUser(
                self.alice.name,
                role: .admin,
                apps: nil,
                password: hash,
                isDisabled: nil,
                by: nil,
                now: self.fixture.now
            )
            #expect(outcome == .done)
        } else {
            #expect(try await self.store.changePassword(of: self.alice, to: hash))
            #expect(try await !self.store.changePassword(of: self.alice, to: hash), "it is another one by now")
        }
        #expect(try await self.devices() == ["given", "password"])
        #expect(try await self.devices(of: bob) == ["bobs"])
    }

    /// When a session expires, nobody has decided to remove the device. Its user will probably
    /// sign in on this device again.
    @Test func deviceStaysIfItsSessionEndsWithoutASignOut() async throws {
        let short = try await self.addSession(lifetime: 10)
        #expect(try await self.register("phone", handle: "a", with: short) == .registered(moved: 0))
        self.fixture.clock.advance(by: 10)
        #expect(try await self.store.deleteExpiredTokens(now: self.fixture.now, limit: 10) == 1)
        let oldest = try await self.addSession()
        #expect(try await self.register("pad", handle: "b", with: oldest) == .registered(moved: 0))
        for _ in 0..<NewSession.maximumCount {
            self.fixture.clock.advance(by: 0.001)
            _ = try await self.addSession()
        }
        #expect(try await self.fixture.reader.user(withToken: oldest.fingerprint, now: self.fixture.now) == nil)
        let last = try await self.addSession()
        #expect(try await self.register("desk", handle: "c", with: last) == .registered(moved: 0))
        #expect(try await self.store.changeUser(self.alice.name, role: .publisher, now: self.fixture.now) == .done)
        #expect(try await self.fixture.reader.user(withToken: last.fingerprint, now: self.fixture.now) == nil)
        #expect(try await self.store.changeUser(self.alice.name, isDisabled: true, now: self.fixture.now) == .done)
        #expect(try await self.devices() == ["desk", "pad", "phone"])
    }

    @Test func endedTokenRegistersNothing() async throws {
        let (session, given) = (try await self.addSession(), try await self.addToken())
        for token in [session, given] {
            try await self.revoke(token)
            #expect(try await self.register("phone", with: token) == .signedOut)
        }
        #expect(try await self.devices().isEmpty)
        // A registration with an ended session does not affect another device with the same
        // handle.
        #expect(try await self.register("pad", with: nil) == .registered(moved: 0))
        #expect(try await self.register("phone", with: session) == .signedOut)
        #expect(try await self.devices() == ["pad"])
    }

    @Test func endOfASessionLeavesTheSharedDeviceOfAnotherUser() async throws {
        let bob = try await self.fixture.addUser("bob")
        let (alices, bobs) = (try await self.addSession(), try await self.addSession(of: bob))
        #expect(try await self.register("alices", with: alices, isShared: true) == .registered(moved: 0))
        #expect(try await self.register("bobs", of: bob, with: bobs, isShared: true) == .registered(moved: 0))
        try await self.revoke(alices)
        #expect(try await self.devices().isEmpty)
        #expect(try await self.devices(of: bob) == ["bobs"])
    }

    /// Either the end of the session finds the device and unregisters it, or the registration
    /// finds that the session has ended.
    @Test func noDeviceOutlivesASessionThatEndsMeanwhile() async throws {
        let outcomes = try await withThrowingTaskGroup(of: RegisterOutcome?.self) { group in
            for number in 0..<20 {
                let session = try await self.addSession()
                group.addTask { try await self.register("phone\(number)", handle: "\(number)", with: session) }
                group.addTask {
                    try await self.revoke(session)
                    return nil
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
        }
        #expect(outcomes.allSatisfy { $0 == .signedOut || $0 == .registered(moved: 0) }, "\(outcomes)")
        #expect(outcomes.count == 20)
        #expect(try await self.devices().isEmpty)
    }
}
