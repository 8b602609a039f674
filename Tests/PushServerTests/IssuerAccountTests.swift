import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Accounts of users who sign in with tokens of an issuer, and the rights that the tokens' claims
/// give.
@Suite(.timeLimit(.minutes(5))) struct IssuerAccountTests {
    private let issuer: TestIssuer
    private let storage: StoreFixture

    init() throws {
        self.storage = try StoreFixture(options: .withEvents)
        self.issuer = try TestIssuer(self.storage.clock)
    }

    /// Makes a server with the users of `ServerFixture`. `change` changes its rules for the
    /// issuer.
    private func server(_ change: (inout IssuerRules) -> Void = { _ in }) async throws -> ServerFixture {
        var rules = TestIssuer.rules
        change(&rules)
        for (name, role) in ServerFixture.roles {
            try await self.storage.addUser(name, role: role, ServerFixture.passwordHash)
        }
        return try await ServerFixture(storage: self.storage, issuer: self.issuer.issuer(rules))
    }

    @Test func theFirstSignInCreatesAUserOnlyIfConfigured() async throws {
        let fixture = try await self.server { $0.createsUsers = false }
        try await fixture.send(bearing: self.issuer.token()).expectProblem(.accountRefused, "there is no user")
        try await self.storage.addUser("alina", role: .publisher, .none(ServerFixture.parameters ?? .usual))
        #expect(try await fixture.send(bearing: self.issuer.token()).json["Role"] == .string("publisher"))
    }

    /// Dex encodes `sub` as base64url, so values that differ only in case belong to different
    /// persons.
    @Test(arguments: ["CgRIb3NzEgRsZGFw", "cgrib3nzegrszgfw", "CGRIB3NZEGRSZGFW"])
    func aNameThatDiffersOnlyInCaseIsRefused(other: String) async throws {
        let fixture = try await self.server()
        let boss = try self.issuer.token(["sub": .string("CgRib3NzEgRsZGFw")])
        #expect(try await fixture.send(bearing: boss).status == .ok)
        for isDisabled in [false, true] {
            let body = #"{"Disabled":\#(isDisabled)}"#
            #expect(
                try await fixture.send(.patch, Paths.user("CgRib3NzEgRsZGFw"), user: "ada", body: body).status
                    == .noContent
            )
            let answer = try await fixture.send(bearing: self.issuer.token(["sub": .string(other)]))
            try answer.expectProblem(.accountRefused, "differs from \(other) in upper or lower case")
        }
    }

    @Test func aCreatedUserHasNoPasswordAndIsInTheAudit() async throws {
        let fixture = try await self.server()
        #expect(try await fixture.send(bearing: self.issuer.token(), client: .unix).status == .ok)
        let audit = try await fixture.send(.get, Paths.audit, user: "ada")
        #expect(
            audit.text.contains(#""Action":"user.add","Subject":"alina","Detail":"device, by the issuer""#),
            "\(audit.text)"
        )
        let basic = [("Authorization", ServerFixture.basic("alina", password: ""))]
        try await fixture.send(.get, Paths.currentSession, user: nil, headers: basic).expectProblem(.unauthorized)
    }

    @Test func manyFirstRequestsMakeOneUser() async throws {
        let fixture = try await self.server()
        let token = try self.issuer.token()
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask {
                    let answer = try await fixture.send(bearing: token, client: .unix)
                    #expect(answer.status == .ok, "\(number) \(answer.text)")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func aUserWithAPasswordIsRefusedUnlessConfigured() async throws {
        let fixture = try await self.server()
        let token = try self.issuer.token(["sub": .string("ada")])
        try await fixture.send(bearing: token).expectProblem(.accountRefused, "password of their own")
        let open = try await ServerFixture(
            storage: self.storage,
            issuer: self.issuer.issuer(self.rules { $0.includesPasswordUsers = true })
        )
        #expect(try await open.send(bearing: token).json["Role"] == .string("admin"))
    }

    private func rules(_ change: (inout IssuerRules) -> Void) -> IssuerRules {
        var rules = TestIssuer.rules
        change(&rules)
        return rules
    }

    @Test func theNameIsThatOfTheConfiguredClaimBehindThePrefix() async throws {
        let fixture = try await self.server { ($0.nameClaim, $0.namePrefix) = ("preferred_username", "corp.") }
        let token = try self.issuer.token(["preferred_username": .string("ada")])
        #expect(try await fixture.send(bearing: token).json["Name"] == .string("corp.ada"))
        try await fixture.send(bearing: self.issuer.token()).expectProblem(.invalidBearerToken, "preferred_username")
    }

    @Test func disablingAndDeletingEndATokenAtOnce() async throws {
        let fixture = try await self.server { $0.createsUsers = false }
        try await self.storage.addUser("alina", role: .device, .none(ServerFixture.parameters ?? .usual))
        let token = try self.issuer.token()
        #expect(try await fixture.send(bearing: token).status == .ok)
        let path = Paths.user("alina")
        #expect(try await fixture.send(.patch, path, user: "ada", body: #"{"Disabled":true}"#).status == .noContent)
        try await fixture.send(bearing: token).expectProblem(.accountRefused, "disabled")
        #expect(try await fixture.send(.patch, path, user: "ada", body: #"{"Disabled":false}"#).status == .noContent)
        #expect(try await fixture.send(bearing: token).status == .ok)
        #expect(try await fixture.send(.delete, path, user: "ada").status == .noContent)
        try await fixture.send(bearing: token).expectProblem(.accountRefused, "there is no user")
    }

    // MARK: Rights

    private static func groups(_ names: String...) -> [String: JSONValue?] {
        ["realm_access": .object([.init("roles", .array(names.map { .string($0) }))])]
    }

    private static let roles = IssuerRules.Mapping<Role>(
        claim: "realm_access.roles",
        values: [.device: ["staff"], .viewer: ["desk"], .publisher: ["editors", "senders"], .admin: ["operators"]]
    )

    @Test func theHighestRoleOfTheClaimIsTheUsersRole() async throws {
        let fixture = try await self.server { $0.roles = Self.roles }
        for (groups, role) in [
            (Self.groups("staff", "x"), "device"), (Self.groups("senders", "staff"), "publisher"),
            (Self.groups("operators", "staff"), "admin"), (Self.groups("staff"), "device"),
            (Self.groups("staff", "desk"), "viewer"), (Self.groups("senders", "desk"), "publisher"),
        ] {
            self.storage.clock.advance(by: 1)
            #expect(try await fixture.send(bearing: self.issuer.token(groups)).json["Role"] == .string(role))
            let user = try await fixture.send(.get, Paths.user("alina"), user: "ada")
            #expect(try user.json["Role"] == .string(role))
        }
        for none in [Self.groups(), Self.groups("operator", "STAFF"), [:], ["realm_access": .string("operators")]] {
            try await fixture.send(bearing: self.issuer.token(none)).expectProblem(.accountRefused, "no role")
        }
    }

    @Test func theOtherRoleAppliesWithoutARoleInTheClaim() async throws {
        let fixture = try await self.server { ($0.roles, $0.otherRole) = (Self.roles, .device) }
        #expect(try await fixture.send(bearing: self.issuer.token()).json["Role"] == .string("device"))
    }

    /// The claims of an old and a new token, and whether the server accepts the old token even
    /// after it has received the new one.
    struct Pair: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let old: [String: JSONValue?]
        let new: [String: JSONValue?]
        let isTaken: Bool
    }

    private static func claims(_ role: String, apps: String = "bank", scopes: String = "read send") -> [String:
        JSONValue?]
    {
        [
            "role": .string(role), "apps": .array(apps.split(separator: " ").map { .string(String($0)) }),
            "scope": .string(scopes),
        ]
    }

    private static let mapped: @Sendable (inout IssuerRules) -> Void = { rules in
        rules.roles = .init(claim: "role", values: [.device: ["device"], .publisher: ["publisher"], .admin: ["admin"]])
        rules.appsClaim = "apps"
        rules.knownApps = Set(["default", "bank", "shop"].compactMap { AppName($0) })
        rules.scopes = .init(claim: "scope", values: [.fetch: ["read"], .send: ["send"], .manage: ["manage"]])
    }

    @Test(arguments: [
        Pair(testDescription: "the same", old: claims("device"), new: claims("device"), isTaken: true),
        Pair(testDescription: "role", old: claims("publisher"), new: claims("device"), isTaken: false),
        Pair(testDescription: "lower role", old: claims("device"), new: claims("publisher"), isTaken: true),
        Pair(testDescription: "app", old: claims("device", apps: "bank shop"), new: claims("device"), isTaken: false),
        Pair(
            testDescription: "another app",
            old: claims("device", apps: "default"),
            new: claims("device"),
            isTaken: false
        ),
        Pair(
            testDescription: "fewer apps",
            old: claims("device"),
            new: claims("device", apps: "bank shop"),
            isTaken: true
        ),
        Pair(
            testDescription: "scope",
            old: claims("publisher", scopes: "read manage"),
            new: claims("publisher", scopes: "read"),
            isTaken: false
        ),
        Pair(
            testDescription: "fewer scopes",
            old: claims("publisher", scopes: "read"),
            new: claims("publisher", scopes: "read send"),
            isTaken: true
        ),
        Pair(
            testDescription: "no scopes",
            old: claims("device"),
            new: claims("device", scopes: "none"),
            isTaken: false
        ),
        Pair(
            testDescription: "lower role, more scopes",
            old: claims("device", scopes: "read send"),
            new: claims("publisher", scopes: "read"),
            isTaken: false
        ),
    ])
    func anOlderTokenWithMoreRightsIsRefused(pair: Pair) async throws {
        let fixture = try await self.server(Self.mapped)
        let (old, unseen) = (
            try self.issuer.token(pair.old), try self.issuer.token(pair.old.merging(["x": .null]) { $1 })
        )
        #expect(try await fixture.send(bearing: old).status == .ok)
        self.storage.clock.advance(by: 1)
        let new = try self.issuer.token(pair.new)
        let hasScopes = pair.new["scope"] != .some(.string("none"))
        #expect(try await fixture.send(bearing: new).status == (hasScopes ? .ok : .forbidden))
        // `again` is another server of the same store, or the first server after a restart.
        let again = try await ServerFixture(storage: self.storage, issuer: self.issuer.issuer(self.rules(Self.mapped)))
        for (fixture, token) in [(fixture, old), (again, unseen), (again, old)] {
            let answer = try await fixture.send(bearing: token)
            if pair.isTaken {
                #expect(answer.status == .ok, "\(answer.text)")
                #expect(try answer.json["Role"] == pair.old["role"] ?? nil, "no more than its own rights")
            } else {
                try answer.expectProblem(.invalidBearerToken, "later token")
            }
        }
        if hasScopes {
            let answer = try await again.send(bearing: new)
            #expect(try answer.json["Role"] == pair.new["role"] ?? nil, "an older token changes nothing of the account")
        }
    }

    @Test func anOlderTokenIsValidOnlyWithinTheUsersRole() async throws {
        let fixture = try await self.server(Self.mapped)
        let old = try self.issuer.token(Self.claims("publisher"))
        self.storage.clock.advance(by: 1)
        #expect(try await fixture.send(bearing: self.issuer.token(Self.claims("publisher"))).status == .ok)
        #expect(try await fixture.send(bearing: old).status == .ok)
        let body = #"{"Role":"device"}"#
        #expect(try await fixture.send(.patch, Paths.user("alina"), user: "ada", body: body).status == .noContent)
        try await fixture.send(bearing: old).expectProblem(.invalidBearerToken, "later token")
    }

    /// If the server stored the account at every request, each request would write to the store.
    @Test func aTokenIsStoredOnceAndOnlyNewRightsAreInTheAudit() async throws {
        let fixture = try await self.server(Self.mapped)
        let changes = { () async throws -> Int in
            let audit = try await fixture.send(.get, Paths.audit, user: "ada").text
            return audit.matches(of: /"Action":"user.change"/).count
        }
        let token = try self.issuer.token(Self.claims("device"))
        for _ in 0..<3 { #expect(try await fixture.send(bearing: token).status == .ok) }
        let first = try await changes()
        self.storage.clock.advance(by: 1)
        let issuedAt = self.storage.clock.now
        #expect(try await fixture.send(bearing: self.issuer.token(Self.claims("device"))).status == .ok)
        #expect(try await changes() == first)
        let stored = try await self.storage.reader.issuedAccount(of: self.storage.user("alina"))
        #expect(stored?.issuedAt == Date(timeIntervalSince1970: issuedAt.timeIntervalSince1970.rounded(.down)))
        self.storage.clock.advance(by: 1)
        #expect(try await fixture.send(bearing: self.issuer.token(Self.claims("device", scopes: "read"))).status == .ok)
        #expect(try await changes() == first + 1)
    }

    // MARK: Owners

    @Test func aUserBelongsToItsIssuerAndSubject() async throws {
        let byName: @Sendable (inout IssuerRules) -> Void = { $0.nameClaim = "preferred_username" }
        let fixture = try await self.server(byName)
        let alina = ["preferred_username": JSONValue?.some(.string("alina")), "sub": .string("CgRh")]
        #expect(try await fixture.send(bearing: self.issuer.token(alina)).status == .ok)
        for other in ["CgRH", "CgRh ", "cgrh", "CgRhx"] {
            let token = try self.issuer.token(alina.merging(["sub": .string(other)]) { $1 })
            try await fixture.send(bearing: token).expectProblem(.accountRefused, "another issuer or another sub")
        }
        let name = "https://other.example"
        let rules = self.rules { rules in
            byName(&rules)
            rules.issuer = name
        }
        let other = try await ServerFixture(storage: self.storage, issuer: self.issuer.issuer(rules))
        let token = try self.issuer.token(alina.merging(["iss": .string(name)]) { $1 })
        try await other.send(bearing: token).expectProblem(.accountRefused, "another issuer or another sub")
        #expect(try await fixture.send(bearing: self.issuer.token(alina)).status == .ok)
    }

    @Test func anEarlierUserBelongsToTheFirstSubjectThatSignsIn() async throws {
        let fixture = try await self.server { $0.nameClaim = "name" }
        try await self.storage.addUser("alina", role: .device, .none(ServerFixture.parameters ?? .usual))
        for (subject, isOwner) in [("one", true), ("two", false), ("one", true)] {
            let token = try self.issuer.token(["name": .string("alina"), "sub": .string(subject)])
            #expect(try await fixture.send(bearing: token).status == (isOwner ? .ok : .forbidden))
        }
    }

    @Test func aRenamedIssuerKeepsItsUsers() async throws {
        let fixture = try await self.server()
        let old = try self.issuer.token()
        #expect(try await fixture.send(bearing: old).status == .ok)
        let name = "https://new.example"
        var rules = self.rules { $0.issuer = name }
        let token = try self.issuer.token(["iss": .string(name)])
        for former: Set<String> in [[], [TestIssuer.name + "/"], [TestIssuer.name], []] {
            rules.formerIssuers = former
            let moved = try await ServerFixture(storage: self.storage, issuer: self.issuer.issuer(rules))
            let answer = try await moved.send(bearing: token)
            // When the server accepts a token of the renamed issuer, it stores the account's owner
            // again, as a hash with the issuer's new name.
            let stored = try await self.storage.reader.issuedAccount(of: self.storage.user("alina"))
            let isMoved =
                stored?.owner == IssuedOwners(secret: self.storage.store.indexSecret).hash(of: "alina", at: name)
            #expect((answer.status == .ok) == isMoved)
            if former == [TestIssuer.name] { #expect(isMoved) }
            try await moved.send(bearing: old).expectProblem(.invalidBearerToken, "iss is not")
        }
        try await fixture.send(bearing: self.issuer.token()).expectProblem(.accountRefused, "another issuer")
    }

    @Test func theLastAdministratorStaysDespiteALowerRoleInItsToken() async throws {
        let rules = self.rules { $0.roles = Self.roles }
        let fixture = try await ServerFixture(storage: self.storage, issuer: self.issuer.issuer(rules))
        let first = try self.issuer.token(Self.groups("operators"))
        #expect(try await fixture.send(bearing: first).status == .ok)
        self.storage.clock.advance(by: 1)
        let token = try self.issuer.token(Self.groups("staff"))
        #expect(try await fixture.send(bearing: token).json["Role"] == .string("device"))
        try await fixture.send(.get, Paths.users, bearing: token).expectProblem(.forbidden)
        #expect(try await self.storage.user("alina").role == .admin)
        // The account still has the role of the first token. The server refuses this token
        // nevertheless, because a later token gave a lower role.
        try await fixture.send(bearing: first).expectProblem(.invalidBearerToken, "later token")
    }

    @Test func appsAreTheKnownAppsOfTheClaim() async throws {
        let bank = try #require(AppName("bank"))
        let fixture = try await self.server { ($0.appsClaim, $0.knownApps) = ("apps", [.usual, bank]) }
        let token = try self.issuer.token(["apps": .array([.string("bank"), .string("other"), .string("BANK")])])
        #expect(try await fixture.send(bearing: token).status == .ok)
        #expect(try await self.storage.user("alina").apps == [bank])
        let none = try self.issuer.token(["apps": .string("other")])
        try await fixture.send(bearing: none).expectProblem(.accountRefused, "no app")
    }

    @Test func scopesAreThoseOfTheClaimWithinTheRole() async throws {
        let scopes = IssuerRules.Mapping<Scopes>(
            claim: "scope",
            values: [.fetch: ["push.read"], .manage: ["push.admin"], .send: ["push.send"]]
        )
        let fixture = try await self.server { $0.scopes = scopes }
        let token = try self.issuer.token(["scope": .string("openid push.read push.admin")])
        #expect(try await fixture.send(bearing: token).json["Scopes"] == .array([.string("fetch")]))
        try await fixture.send(.post, Paths.notifications, bearing: token).expectProblem(.insufficientScope)
        let none = try self.issuer.token(["scope": .string("openid")])
        try await fixture.send(bearing: none).expectProblem(.accountRefused, "no scope")
    }

    @Test func withoutAClaimATokenDoesNotManage() async throws {
        let fixture = try await self.server { $0.roles = Self.roles }
        let token = try self.issuer.token(Self.groups("operators"))
        try await fixture.send(.get, Paths.users, bearing: token).expectProblem(.insufficientScope, "manage")
    }

    // MARK: Other credentials

    @Test func aTokenBeginsASessionOnlyIfConfigured() async throws {
        let token = try self.issuer.token()
        let fixture = try await self.server()
        try await fixture.send(.post, Paths.sessions, bearing: token).expectProblem(
            .forbidden,
            "cannot start a session"
        )
        try await fixture.send(.delete, Paths.currentSession, bearing: token).expectProblem(
            .notFound,
            "cannot be revoked; it expires"
        )
        let scopes = IssuerRules.Mapping<Scopes>(claim: "scope", values: [.fetch: ["read"]])
        let open = try await ServerFixture(
            storage: self.storage,
            issuer: self.issuer.issuer(self.rules { ($0.allowsSessions, $0.scopes) = (true, scopes) })
        )
        let reader = try self.issuer.token(["scope": .string("read")])
        let wide = try await open.send(.post, Paths.sessions, bearing: reader, body: #"{"Scopes":["send"]}"#)
        try wide.expectProblem(.invalidMember, "Scopes")
        let session = try await open.send(.post, Paths.sessions, bearing: reader)
        #expect(try session.json["Scopes"] == .array([.string("fetch")]))
        let own = try #require(try session.json["Token"]?.text)
        #expect(try await open.send(bearing: own).json["Name"] == .string("alina"))
    }

    @Test func aTokenOverridesACertificateButNotAProxysIdentity() async throws {
        let field = try #require(IdentityField("X-Remote-User"))
        let fixture = try await self.server()
        let token = try self.issuer.token()
        #expect(try await fixture.send(bearing: token, certificate: "bob").json["Name"] == .string("alina"))
        let proxied = try await ServerFixture(
            settings: .forTests(\.identityField, field),
            storage: self.storage,
            issuer: self.issuer.issuer()
        )
        let head = "GET \(Paths.currentSession) HTTP/1.1\r\nHost: sealpost.test\r\nX-Remote-User: bob\r\n"
        let request = Request(
            head: try #require(RequestHead(head + "Authorization: Bearer \(token)\r\n\r\n")),
            body: RequestBody([]),
            peer: .unix,
            loopIndex: 0,
            proxies: TrustedProxies(networks: [], includesUnix: true, field: .xForwardedFor)
        )
        #expect(try await proxied.server.respond(to: request).response.json["Name"] == .string("bob"))
    }

    @Test func forgedTokensAreThrottledAndValidOnesAreNot() async throws {
        let fixture = try await self.server()
        let client = PeerAddress.ip(try #require(IPAddress("192.0.2.1")))
        let forged = try self.issuer.token(header: ["alg": .string("none")])
        var codes: Set<Int> = []
        for _ in 0..<200 { codes.insert(try await fixture.send(bearing: forged, client: client).status.code) }
        #expect(codes == [401, 429])
        #expect(try await fixture.send(bearing: self.issuer.token(), client: client).status == .ok)
    }
}
