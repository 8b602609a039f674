import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Each enrolment code signs in its user once, unless the code has expired.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct EnrolmentStoreTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func makeCode(_ scopes: Scopes = [.fetch, .register], lifetime: TimeInterval = 60) async throws
        -> EnrolmentCode
    {
        let code = EnrolmentCode.random()
        let isAdded = try await self.fixture.store.addEnrolment(
            code.fingerprint,
            for: self.alice,
            scopes: scopes,
            expiresAt: self.fixture.now + lifetime,
            by: nil,
            now: self.fixture.now
        )
        #expect(isAdded)
        return code
    }

    private func redeem(_ code: EnrolmentCode) async throws -> Enrolment? {
        let now = self.fixture.now
        return try await self.fixture.store.redeemEnrolment(code.fingerprint, expiresAt: now + 1000, now: now) {
            user,
            scopes in
            AuditRecord(.beginSession, of: user.description, detail: "scopes \(scopes)", at: now)
        }
    }

    @Test func aCodeGivesASessionOnce() async throws {
        let code = try await self.makeCode()
        let enrolment = try #require(try await self.redeem(code))
        #expect(enrolment.user == self.alice.name)
        let token = enrolment.session.token
        let found = try #require(
            try await self.fixture.reader.user(withToken: token.fingerprint, now: self.fixture.now)
        )
        #expect(found.user.id == self.alice.id)
        #expect(found.grant.scopes == [.fetch, .register])
        #expect(try await self.redeem(code) == nil)
        let audit = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(audit.map(\.detail).contains { $0.hasSuffix("scopes fetch register") && $0.hasPrefix("token ") })
    }

    @Test func aCodeIsThereUntilItIsUsedOrItsUserIsDisabled() async throws {
        let (store, now) = (self.fixture.store, self.fixture.now)
        func isThere(_ code: Fingerprint, at now: Date) async throws -> Bool {
            try await self.fixture.reader.hasEnrolment(code, now: now)
        }
        let (code, other) = (try await self.makeCode(), try await self.makeCode())
        #expect(try await isThere(code.fingerprint, at: now + 59))
        #expect(try await !isThere(code.fingerprint, at: now + 60))
        let enrolment = try #require(try await self.redeem(code))
        #expect(try await !isThere(code.fingerprint, at: now))
        #expect(try await !isThere(enrolment.session.token.fingerprint, at: now), "a token is no code")
        _ = try await store.changeUser(self.alice.name, isDisabled: true, now: now)
        #expect(try await !isThere(other.fingerprint, at: now))
    }

    @Test func concurrentRedemptionsGiveOneSession() async throws {
        let code = try await self.makeCode()
        let given = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 { group.addTask { try await self.redeem(code) != nil } }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(given == 1)
    }

    @Test func codeIsNeitherATokenNorListed() async throws {
        let code = try await self.makeCode()
        let now = self.fixture.now
        for user in [nil, self.alice.name] {
            #expect(try await self.fixture.reader.tokens(of: user, after: nil, limit: 10, now: now).isEmpty)
        }
        #expect(try await self.fixture.reader.user(withToken: Fingerprint(of: code.text.exposed[...]), now: now) == nil)
    }

    @Test func aCodeEndsWithItsTime() async throws {
        let code = try await self.makeCode(lifetime: 60)
        self.fixture.clock.advance(by: 60)
        #expect(try await self.redeem(code) == nil)
        #expect(try await self.fixture.store.deleteExpiredTokens(now: self.fixture.now, limit: 10) == 1)
    }

    @Test(arguments: ["password", "disabled", "deleted", "role", "app"])
    func aCodeEndsAsASessionDoes(change: String) async throws {
        let code = try await self.makeCode()
        let (store, now, name) = (self.fixture.store, self.fixture.now, self.alice.name)
        switch change {
        case "password": _ = try await store.changeUser(name, password: .none(.usual), now: now)
        case "disabled": _ = try await store.changeUser(name, isDisabled: true, now: now)
        case "role": _ = try await store.changeUser(name, role: .publisher, now: now)
        case "app":
            let apps: Set = [.usual, try #require(AppName("bank"))]
            _ = try await store.changeUser(name, apps: apps, now: now)
        default: _ = try await store.deleteUser(name, by: nil)
        }
        #expect(try await self.redeem(code) == nil)
        let isAdded = try await store.addEnrolment(
            EnrolmentCode.random().fingerprint,
            for: self.alice,
            scopes: .fetch,
            expiresAt: now + 60,
            by: nil,
            now: now
        )
        #expect(!isAdded, "the user is not the one any more for whom the code was allowed")
    }

    @Test func codeAboveTheLimitEndsTheOldest() async throws {
        var codes: [EnrolmentCode] = []
        for _ in 0...Enrolment.maximumCount {
            self.fixture.clock.advance(by: 1)
            codes.append(try await self.makeCode())
        }
        #expect(try await self.redeem(codes[0]) == nil)
        for code in codes.dropFirst() { #expect(try await self.redeem(code) != nil) }
    }

    @Test func codeWithTheLowestHashEndsFirstAtTheSameTime() async throws {
        var codes: [EnrolmentCode] = []
        for _ in 0..<Enrolment.maximumCount { codes.append(try await self.makeCode()) }
        codes.sort { $0.fingerprint.bytes.lexicographicallyPrecedes($1.fingerprint.bytes) }
        codes.append(try await self.makeCode())
        #expect(try await self.redeem(codes[0]) == nil)
        for code in codes.dropFirst() { #expect(try await self.redeem(code) != nil) }
    }

    @Test func aCodeIsReadInAnySpelling() throws {
        let code = EnrolmentCode.random()
        let text = code.text.exposed
        #expect(text.wholeMatch(of: /[0-9A-Z]{5}(-[0-9A-Z]{5}){4}/) != nil)
        for spelled in [
            text.lowercased(), text.replacing("-", with: ""), text.replacing("-", with: " "), "  \(text) ",
            text.replacing("0", with: "o").replacing("1", with: "l"), text.replacing("1", with: "I"),
        ] { #expect(EnrolmentCode(spelled)?.fingerprint == code.fingerprint, "\(spelled)") }
        for wrong in [
            "", String(text.dropLast()), text + "0", text.dropLast() + "U", String(repeating: "-", count: 101),
        ] {
            #expect(EnrolmentCode(String(wrong)) == nil, "\(wrong)")
        }
        #expect(code.fingerprint != Fingerprint(of: text[...]))
    }
}
