import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Synchronization
import Testing

@testable import PushServer

/// Two servers share one database. The first server ends credentials or changes their rights. The
/// tests check which credentials the second server accepts afterwards.
@Suite(.timeLimit(.minutes(5))) struct RevocationAcrossServersTests {
    /// An operation that ends credentials or changes their rights.
    enum Ending: CaseIterable, Sendable {
        case signingOut, revoking, tooManySessions, ownPassword, password, role, apps, disabling, deleting
    }

    enum Shown: CaseIterable, Sendable {
        case password, session, token
    }

    private let here: ServerFixture
    private let there: ServerFixture
    /// Whether the second server exchanges data with the first one. If not, the second server acts
    /// as if it were stopped.
    private let gate = Gate()

    private final class Gate: Sendable {
        let isOpen = Atomic(true)
    }

    init() async throws {
        let storage = try StoreFixture(.postgreSQL)
        self.here = try await ServerFixture(storage: storage)
        for (name, role) in ServerFixture.roles {
            try await storage.addUser(name, role: role, ServerFixture.passwordHash)
        }
        var options = StoreOptions()
        options.cluster.mayExchange = { [gate] in gate.isOpen.load(ordering: .relaxed) }
        self.there = try await ServerFixture(storage: storage.reopened(options: options))
    }

    /// A publisher with credentials of every kind.
    private struct Subject {
        let name: String
        let session: BearerToken
        let token: BearerToken

        func field(_ shown: Shown) -> String {
            switch shown {
            case .password: ServerFixture.basic(self.name)
            case .session: "Bearer \(self.session.text.exposed)"
            case .token: "Bearer \(self.token.text.exposed)"
            }
        }
    }

    private func subject(_ name: String) async throws -> Subject {
        let storage = self.here.storage
        try await storage.addUser(name, role: .publisher, ServerFixture.passwordHash)
        let (user, end) = (try await storage.user(name), storage.now + 3600)
        let session = try await storage.store.addSession(for: user, scopes: .all, expiresAt: end, now: storage.now)
        let token = try await storage.store.addToken(
            for: user.name,
            scopes: .all,
            expiresAt: end,
            by: nil,
            now: storage.now
        )
        return Subject(name: name, session: try #require(session?.token), token: try #require(token))
    }

    /// Returns the status of the second server's answer to a request of the publisher.
    private func status(_ subject: Subject, _ shown: Shown) async throws -> HTTPResponse.Status {
        try await self.there.send(
            .get,
            Paths.userTags("alice"),
            user: nil,
            headers: [("Authorization", subject.field(shown))]
        ).status
    }

    private func isRemembered(_ subject: Subject, _ shown: Shown) throws -> Bool {
        let field = subject.field(shown)
        let credentials = shown == .password ? Credentials.basic(field: field) : .bearer(field.dropFirst(7))
        return try self.there.authenticator.caller(
            by: credentials,
            from: nil,
            reader: nil,
            term: self.there.storage.store.cluster?.lease.term,
            now: self.there.clock.now
        ) != nil
    }

    private func end(_ ending: Ending, _ subject: Subject) async throws {
        let user = Paths.user(subject.name)
        switch ending {
        case .signingOut:
            let bearer = [("Authorization", subject.field(.session))]
            try await self.change(.delete, Paths.currentSession, user: nil, headers: bearer)
        case .revoking: try await self.change(.delete, Paths.token(subject.token.prefix.description))
        case .tooManySessions:
            for _ in 0..<NewSession.maximumCount {
                self.here.clock.advance(by: 1)
                try await self.change(.post, Paths.sessions, user: subject.name)
            }
        case .ownPassword:
            let body = #"{"Current":"\#(ServerFixture.password)","New":"another: pass: word"}"#
            try await self.change(.put, Paths.ownPassword, user: subject.name, body: body)
        case .password: try await self.change(.patch, user, body: #"{"Password":"another: pass: word"}"#)
        case .role: try await self.change(.patch, user, body: #"{"Role":"device"}"#)
        case .apps: try await self.change(.patch, user, body: #"{"Apps":["default"]}"#)
        case .disabling: try await self.change(.patch, user, body: #"{"Disabled":true}"#)
        case .deleting: try await self.change(.delete, user)
        }
    }

    private func change(
        _ method: HTTPRequest.Method,
        _ path: String,
        user: String? = "ada",
        headers: [(String, String)] = [],
        body: String = ""
    ) async throws {
        let answer = try await self.here.send(method, path, user: user, headers: headers, body: body)
        #expect(answer.status.kind == .successful, "\(answer.text)")
    }

    /// A change, the credentials that it concerns, and the second server's answer to the next
    /// request with these credentials.
    @Test(
        arguments: [
            (.signingOut, [.session], .unauthorized), (.revoking, [.token], .unauthorized),
            (.tooManySessions, [.session], .unauthorized), (.ownPassword, [.password, .session], .unauthorized),
            (.password, [.password, .session], .unauthorized), (.role, Shown.allCases, .forbidden),
            (.apps, Shown.allCases, .ok), (.disabling, Shown.allCases, .unauthorized),
            (.deleting, Shown.allCases, .unauthorized),
        ] as [(Ending, [Shown], HTTPResponse.Status)]
    )
    func aChangeAppliesToTheNextRequestOnAnotherServer(ending: Ending, ended: [Shown], status: HTTPResponse.Status)
        async throws
    {
        for round in 0..<(ending == .tooManySessions ? 1 : 5) {
            let subject = try await self.subject("user\(round)")
            for shown in Shown.allCases {
                #expect(try await self.status(subject, shown) == .ok)
                #expect(try self.isRemembered(subject, shown))
            }
            try await self.end(ending, subject)
            for shown in Shown.allCases {
                if ended.contains(shown) { #expect(try !self.isRemembered(subject, shown), "\(shown)") }
                #expect(try await self.status(subject, shown) == (ended.contains(shown) ? status : .ok), "\(shown)")
            }
        }
    }

    @Test func aStalledServerDoesNotUseEndedCredentials() async throws {
        var subjects: [Subject] = []
        for number in 0..<3 { subjects.append(try await self.subject("user\(number)")) }
        for subject in subjects {
            for shown in Shown.allCases { #expect(try await self.status(subject, shown) == .ok) }
        }
        self.gate.isOpen.store(false, ordering: .relaxed)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for (subject, ending) in zip(subjects, [Ending.disabling, .revoking, .deleting]) {
                group.addTask { try await self.end(ending, subject) }
            }
            try await group.waitForAll()
        }
        // The changes waited for the second server, for longer than a running server needs to
        // answer.
        let waited = ContinuousClock.now - start
        #expect(waited > .milliseconds(500), "\(waited)")
        let expected: [[HTTPResponse.Status]] = [
            [.unauthorized, .unauthorized, .unauthorized], [.ok, .ok, .unauthorized],
            [.unauthorized, .unauthorized, .unauthorized],
        ]
        for isOpen in [false, true] {
            self.gate.isOpen.store(isOpen, ordering: .relaxed)
            if isOpen { try await eventually { self.there.storage.store.cluster?.lease.term != nil } }
            for (subject, statuses) in zip(subjects, expected) {
                for (shown, status) in zip(Shown.allCases, statuses) {
                    // The second server may cache credentials again if they are still valid.
                    if !isOpen || status != .ok { #expect(try !self.isRemembered(subject, shown)) }
                    #expect(try await self.status(subject, shown) == status)
                }
            }
        }
    }

    /// Reads or replaces alice's tags at the second server.
    private func tags(_ method: HTTPRequest.Method, _ subject: Subject) async throws -> Response {
        try await self.there.send(
            method,
            Paths.userTags("alice"),
            user: nil,
            headers: [("Authorization", subject.field(.token))],
            body: method == .put ? #"{"Tags":["new"]}"# : ""
        )
    }

    @Test(arguments: [HTTPRequest.Method.get, .put])
    func aRequestInterruptedByTheLeasesEndIsRefused(method: HTTPRequest.Method) async throws {
        let subject = try await self.subject("user")
        #expect(try await self.status(subject, .token) == .ok)
        let lease = try #require(self.there.storage.store.cluster?.lease)
        let storage = self.there.storage
        let lock = try storage.lock("account")
        async let answer = self.tags(method, subject)
        try await eventually { try lock.isAwaited() }
        lease.end(isFinal: false)
        try lock.release()
        #expect(try await answer.status == .serviceUnavailable)
        #expect(self.there.log.lines.contains { $0.contains("cut off from the database, during the request") })
        try await eventually { lease.term != nil }
        #expect(try await self.tags(method, subject).status.kind == .successful)
    }
}

extension RevocationAcrossServersTests {
    @Test func anIssuersTokenEndsOnAllServersWithItsUser() async throws {
        let storage = try StoreFixture(.postgreSQL)
        let issuer = try TestIssuer(storage.clock)
        let here = try await ServerFixture(storage: storage)
        try await storage.addUser("ada", role: .admin, ServerFixture.passwordHash)
        var rules = TestIssuer.rules
        rules.createsUsers = false
        let there = try await ServerFixture(storage: storage.reopened(), issuer: issuer.issuer(rules))
        let path = Paths.user("alina")
        for (method, body) in [(HTTPRequest.Method.patch, #"{"Disabled":true}"#), (.delete, "")] {
            try await storage.addUser("alina", role: .device, .none(.usual))
            let token = try issuer.token(["jti": .string(method.rawValue)])
            #expect(try await there.send(bearing: token).status == .ok)
            #expect(try await here.send(method, path, user: "ada", body: body).status == .noContent)
            try await there.send(bearing: token).expectProblem(.accountRefused)
            if method == .patch { #expect(try await here.send(.delete, path, user: "ada").status == .noContent) }
        }
    }

    @Test func aTokenOfFewerScopesEndsOlderTokensOnAllServers() async throws {
        let storage = try StoreFixture(.postgreSQL)
        let issuer = try TestIssuer(storage.clock)
        var rules = TestIssuer.rules
        rules.scopes = .init(claim: "scope", values: [.fetch: ["read"], .send: ["send"]])
        let here = try await ServerFixture(storage: storage, issuer: issuer.issuer(rules))
        let there = try await ServerFixture(storage: storage.reopened(), issuer: issuer.issuer(rules))
        let now = Int(storage.clock.now.timeIntervalSince1970)
        let old = try issuer.token(["scope": .string("read send"), "iat": .number(now - 3)])
        #expect(try await there.send(bearing: old).status == .ok)
        let same = try issuer.token(["scope": .string("send read"), "iat": .number(now - 2)])
        #expect(try await here.send(bearing: same).status == .ok)
        #expect(try await there.send(bearing: old).status == .ok)
        let fewer = try issuer.token(["scope": .string("read"), "iat": .number(now - 1)])
        #expect(try await here.send(bearing: fewer).status == .ok)
        for token in [old, same] {
            try await there.send(bearing: token).expectProblem(.invalidBearerToken, "later token")
        }
    }
}
