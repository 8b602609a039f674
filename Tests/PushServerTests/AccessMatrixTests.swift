import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Calls every route of the server as each kind of caller, for resources of the caller, of another
/// user and of nobody (missing resources).
@Suite(.timeLimit(.minutes(5))) struct AccessMatrixTests {
    private enum Owner: CaseIterable {
        // `caller` comes last, because its requests may change or delete the caller's own
        // resource, which the other requests may need.
        case nobody, another, caller
    }

    private static let routes = ServerFixture.routes.map { "\($0.method.rawValue) \($0.path)" }

    @Test func everyRouteIsInTheTable() {
        #expect(Set(Self.routes) == Set(AccessRow.all.keys))
    }

    /// The program that searches answers for secrets reads the routes from `scripts/routes`.
    @Test func everyRouteIsInTheListOfTheScripts() throws {
        let lines = try Repository.text(of: "scripts/routes").split(separator: "\n").map(String.init)
        #expect(lines == Self.routes.sorted())
    }

    @Test(arguments: Self.routes, AccessCaller.all)
    func aRouteAnswersAsTheTableSays(route: String, caller: AccessCaller) async throws {
        let row = try #require(AccessRow.all[route], "the route is not in the table")
        let fixture = try await Self.fixture(for: route, caller)
        let credentials = try await Self.credentials(of: caller, in: fixture)
        let body = row.hasDeviceKey ? try await fixture.deviceKeyBody(of: caller.user ?? "alice") : row.body
        var answers: [Owner: Response] = [:]
        for owner in Owner.allCases where owner == .caller || row.resource != .nothing {
            let target = try await Self.target(of: route, row, owner: owner, caller: caller, in: fixture)
            let answer = try await Self.send(target, body, credentials, in: fixture)
            let expected = try Self.status(route, row, owner: owner, caller: caller)
            #expect(answer.status.code == expected, "\(owner): \(answer.text)")
            answers[owner] = answer
        }
        // The answers about another user's resource and about a missing one must have the same
        // bytes. Otherwise a caller would learn whether a resource of another user exists.
        if let foreign = answers[.another], let missing = answers[.nobody], foreign.status == missing.status {
            #expect(foreign.body == missing.body)
            #expect(foreign.fields == missing.fields)
        }
    }

    /// Every route must declare who may call it. Without this declaration, the server answers as
    /// if the route did not exist.
    @Test(arguments: AccessCaller.all)
    func anUndeclaredRouteDoesNotExist(caller: AccessCaller) async throws {
        let fixture = try await ServerFixture()
        let credentials = try await Self.credentials(of: caller, in: fixture)
        for target in ["GET /api/unheard-of", "POST /api/users/ada/secrets", "GET /api", "GET /api/register/x/y"] {
            let answer = try await Self.send(target, "", credentials, in: fixture)
            #expect(answer.status == (caller.user == nil ? .unauthorized : .notFound), "\(target)")
        }
    }

    // MARK: - Private

    /// For each caller, one server that gets all requests that change nothing: requests that read,
    /// and requests that the caller may not make. Starting a server takes longer than all these
    /// requests together.
    private static let sharedServers = Dictionary(
        uniqueKeysWithValues: AccessCaller.all.map { caller in
            (caller.testDescription, Task.detached { try await ServerFixture(settings: Self.settings) })
        }
    )

    private static func fixture(for route: String, _ caller: AccessCaller) async throws -> ServerFixture {
        let changesNothing = try route.hasPrefix("GET ") || self.isRefused(route, caller)
        guard changesNothing, let server = self.sharedServers[caller.testDescription] else {
            return try await ServerFixture(settings: self.settings)
        }
        return try await server.value
    }

    private static func isRefused(_ route: String, _ caller: AccessCaller) throws -> Bool {
        guard let role = caller.role else { return try #require(AuthorisationTests.least[route]) != nil }
        return try AuthorisationTests.refusal(of: route, to: role, caller.scopes) != nil
    }

    /// Settings with a platform of each kind, because some routes work only with one kind of
    /// platform.
    private static let settings = ServerSettings {
        $0.platforms = [
            Platform("apns"): .init(SampleHandleRule()),
            Platform("stream"): .init(SampleHandleRule(.registrationID)),
            Platform("webpush"): .init(SampleHandleRule(), applicationServerKey: "key"),
        ]
        $0.events = .listed
    }

    private static func status(
        _ route: String,
        _ row: AccessRow,
        owner: Owner,
        caller: AccessCaller
    ) throws -> Int {
        if try #require(AuthorisationTests.least[route], "who may is not in the table") != nil {
            guard let role = caller.role else { return 401 }
            guard try AuthorisationTests.refusal(of: route, to: role, caller.scopes) == nil else { return 403 }
        }
        if owner != .nobody, caller.role == .publisher, let status = row.toPublisher { return status }
        if owner == .caller, caller.role == .publisher, let status = row.ownToPublisher { return status }
        switch owner {
        case .caller: return caller.scopes == nil ? row.ownByPassword ?? row.own : row.own
        case .nobody: return try #require(row.missing)
        case .another:
            let isManaging = caller.role == .admin && caller.scopes?.isSuperset(of: .send) ?? true
            let isSeeing = AuthorisationTests.seeing[route] != nil && [.viewer, .admin].contains(caller.role)
            return try #require(isManaging || isSeeing ? row.foreignToAdministrator ?? row.foreign : row.foreign)
        }
    }

    private static func credentials(
        of caller: AccessCaller,
        in fixture: ServerFixture
    ) async throws -> [(String, String)] {
        guard let user = caller.user else { return [] }
        guard let scopes = caller.scopes else { return [("Authorization", ServerFixture.basic(user))] }
        let token = try await Self.token(of: user, scopes, in: fixture)
        return [("Authorization", "Bearer \(token.text.exposed)")]
    }

    private static func token(of user: String, _ scopes: Scopes, in fixture: ServerFixture) async throws -> BearerToken
    {
        let name = try #require(Username(user))
        let token = try await fixture.storage.store.addToken(
            for: name,
            scopes: scopes,
            expiresAt: .distantFuture,
            now: fixture.clock.now
        )
        return try #require(token)
    }

    /// Returns the method and target of a request about a resource of the owner.
    private static func target(
        of route: String,
        _ row: AccessRow,
        owner: Owner,
        caller: AccessCaller,
        in fixture: ServerFixture
    ) async throws -> String {
        // For a caller without credentials, alice's resources take the place of the caller's own
        // resources.
        let owner: String? =
            switch owner {
            case .nobody: nil
            case .another: "bob"
            case .caller: caller.user ?? "alice"
            }
        let id: String
        switch row.resource {
        case .nothing: return route
        case .notification:
            // Each user posts a notification to itself, so the notification's recipient is also
            // its sender.
            id = try await owner.asyncMap { try await fixture.post(#"{"Payload":1}"#, user: $0) } ?? "/1"
        case .registration:
            id = try await owner.asyncMap { try await fixture.requestRegistration(user: $0) } ?? "none"
        case .device, .streamDevice:
            let platform = row.resource == .device ? "apns" : "stream"
            id = try await owner.asyncMap { try await Self.device(of: $0, platform, in: fixture) } ?? "none"
        case .token:
            id =
                try await owner.asyncMap { try await Self.token(of: $0, .fetch, in: fixture).prefix.description }
                ?? "spt_00000000"
        case .user: id = owner ?? "nobody"
        // No user with this name exists.
        case .file: id = owner == nil ? "nothing.js" : "console.js"
        }
        // The resource's id is the last segment of its path.
        let name = String(id.split(separator: "/").last ?? "")
        return row.resource == .streamDevice ? "\(route)?device=\(name)" : route.filled(with: name)
    }

    private static func device(of user: String, _ platform: String, in fixture: ServerFixture) async throws -> String {
        try await fixture.storage.addDevice(
            of: fixture.storage.user(user),
            platform: platform,
            handle: "\(user)-\(platform)"
        ).description
    }

    /// Sends a request. A request for a test push waits for the push's outcome, so a simulated
    /// provider accepts every push meanwhile.
    private static func send(
        _ target: String,
        _ body: String,
        _ credentials: [(String, String)],
        in fixture: ServerFixture
    ) async throws -> Response {
        let words = target.split(separator: " ").map(String.init)
        let method = try #require(HTTPRequest.Method(words[0]))
        return try await withThrowingTaskGroup(of: Response?.self) { group in
            group.addTask {
                let headers = credentials + [("X-Request-Id", "same"), ("MyToken", "7")]
                return try await fixture.send(method, words[1], user: nil, headers: headers, body: body)
            }
            if words[1].hasSuffix("/test") {
                group.addTask {
                    // Accepts pushes until the task group cancels this task.
                    try await eventually {
                        for delivery in try await fixture.storage.lease() {
                            try await fixture.storage.settle(delivery, as: .accepted(providerID: nil))
                            fixture.links.settlements.settled([delivery.push.notification])
                        }
                        return false
                    }
                    return nil
                }
            }
            let answer = try await group.next() ?? nil
            group.cancelAll()
            return try #require(answer)
        }
    }
}

extension Optional where Wrapped: Sendable {
    /// An asynchronous `map`.
    fileprivate func asyncMap<Result>(_ transform: (Wrapped) async throws -> Result) async rethrows -> Result? {
        guard let value = self else { return nil }
        return try await transform(value)
    }
}
