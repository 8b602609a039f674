import Foundation
import HTTPTypes
import Logging
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The answers of the local admin socket, which serves commands of the same machine, to each kind
/// of caller.
@Suite(.timeLimit(.minutes(5))) struct LocalAdministrationTests {
    private let fixture: ServerFixture
    private let administration: LocalAdministration

    init() async throws {
        self.fixture = try await ServerFixture()
        self.administration = LocalAdministration(
            fixture.server,
            admits: { [0, 990].contains($0) },
            nameOf: { $0 == 0 ? "root" : "sealpost" },
            logger: Logger(label: "test") { [log = fixture.log] _ in log }
        )
    }

    private func send(
        _ method: String,
        _ target: String,
        _ body: String = "",
        from peer: PeerAddress = .process(user: 0),
        host: String = LocalAdministration.host,
        headers: [String] = []
    ) async throws -> Response {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: \(host)"] + headers
        let head = try #require(RequestHead(lines.joined(separator: "\r\n") + "\r\n\r\n"))
        let request = Request(head: head, body: RequestBody(Array(body.utf8)), peer: peer, loopIndex: 0)
        return try await self.administration.respond(to: request).response
    }

    @Test(arguments: [(0, "local root"), (990, "local sealpost")])
    func theKernelsUserIsTheAdministratorThatTheAuditNames(user: UInt32, name: String) async throws {
        let made = try await self.send(
            "POST",
            Paths.users,
            #"{"Name": "carol", "WithoutPassword": true}"#,
            from: .process(user: user)
        )
        #expect(made.status == .created, "\(made.text)")
        let entries = try await self.fixture.storage.reader.auditEntries(before: nil, limit: 1)
        let entry = try #require(entries.first)
        #expect([entry.action, entry.subject, entry.actor, entry.client] == ["user.add", "carol", name, "local"])
        #expect(!entry.request.isEmpty)
    }

    @Test(arguments: [
        PeerAddress.process(user: 1000), .process(user: .max), .unix, .unknown,
        IPAddress("127.0.0.1").map { .ip($0) } ?? .unknown,
    ])
    func aProcessThatIsNotAdmittedIsRefused(peer: PeerAddress) async throws {
        let refused = try await self.send("DELETE", Paths.user("bob"), from: peer)
        #expect(refused.status == .forbidden)
        #expect(try await self.fixture.storage.reader.userEntry(named: #require(Username("bob"))) != nil)
        #expect(self.fixture.log.lines.contains { $0.contains("local request refused") })
    }

    /// A proxy that runs as root may forward requests to the socket by mistake. Such a proxy must
    /// not give its clients the rights of an administrator.
    @Test(arguments: [
        "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Host: push.example", "X-Forwarded-Proto: https",
        "X-Real-IP: 192.0.2.1", "Forwarded: for=192.0.2.1", "Via: 1.1 proxy", "Origin: http://sealpost.local",
        "Origin: null", "Referer: https://evil.example/", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Dest: image", "Cookie: a=b", "Authorization: Basic YWRhOng=",
    ])
    func requestsOfBrowsersAndProxiesAreRefused(field: String) async throws {
        let refused = try await self.send("DELETE", Paths.user("bob"), headers: [field])
        #expect(refused.status == .forbidden)
        #expect(refused.text.contains("browsers and proxies"), "\(refused.text)")
        #expect(try await self.fixture.storage.reader.userEntry(named: #require(Username("bob"))) != nil)
    }

    /// Version 0.1.0 created such users; no path of the API has their names.
    @Test(arguments: [".", ".."]) func aUserWithTheNameOfADotSegmentIsDeleted(text: String) async throws {
        let name = try #require(Username(text))
        try await self.fixture.storage.addUser(text)
        #expect(try await self.send("GET", Paths.users).text.contains(#""Name":"\#(text)""#))
        #expect(try await self.send("DELETE", "\(LocalPaths.users)?name=\(text)").status == .noContent)
        #expect(try await self.fixture.storage.reader.userEntry(named: name) == nil)
        try await self.send("DELETE", "\(LocalPaths.users)?name=\(text)").expectProblem(.notFound)
        try await self.send("DELETE", LocalPaths.users).expectProblem(.notFound)
        try await self.send("DELETE", "\(LocalPaths.users)?name=ada").expectProblem(.lastAdministrator)
    }

    @Test(arguments: ["localhost", "127.0.0.1:8080", "push.example", "sealpost.local.example", "sealpost.local:80"])
    func anotherHostIsRefused(host: String) async throws {
        #expect(try await self.send("GET", Paths.users, host: host).status == .forbidden)
    }

    /// The operator may also read the log. No other client gets an internal reason.
    @Test func aFailureIsExplainedToTheOperatorOnly() async throws {
        await self.fixture.storage.store.close()
        let body = #"{"Name": "carol", "WithoutPassword": true}"#
        try await self.send("POST", Paths.users, body).expectProblem(.busy, "the database is closed")
        let answer = try await self.fixture.send(.post, Paths.users, user: "ada", body: body)
        try answer.expectProblem(.busy)
        #expect(!answer.text.contains("closed"), "\(answer.text)")
    }

    @Test func localPathsExistOnTheSocketOnly() async throws {
        for path in [
            LocalPaths.daemon, LocalPaths.users, LocalPaths.audit, LocalPaths.keyring, "\(LocalPaths.userData)/alice",
        ] {
            #expect(try await self.send("GET", path).status == .ok)
            for user in [nil, "ada"] {
                let answer = try await self.fixture.send(.get, path, user: user, bytes: [], client: .process(user: 0))
                #expect(answer.status == .notFound, "\(path)")
            }
            for path in [
                LocalPaths.keys, LocalPaths.keyring, LocalPaths.notifications,
                "\(LocalPaths.backup)?file=%2Ftmp%2Fcopy.db",
            ] {
                #expect(try await self.fixture.send(.post, path, user: "ada").status == .notFound)
            }
            #expect(try await self.fixture.send(.delete, "\(LocalPaths.keyring)/1", user: "ada").status == .notFound)
            #expect(!ServerFixture.routes.contains { $0.path.hasPrefix("/local") })
        }
        // On the public interface, the server ignores the user id that the kernel gives for the
        // client's process.
        let answer = try await self.fixture.send(.get, Paths.users, user: nil, bytes: [], client: .process(user: 0))
        #expect(answer.status == .unauthorized)
    }

    @Test func theOperatorSeesTheStateOfAnybodysPushes() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let id = try #require(path.split(separator: "/").last)
        let answer = try await self.send("GET", "\(LocalPaths.deliveries)/\(id)")
        let start = #"{"Id":\#(id),"SendAt":null,"FanningOut":false,"Counts":{"queued":"#
        #expect(answer.text.hasPrefix(start), "\(answer.text)")
        for missing in ["1", "x", "0"] {
            #expect(try await self.send("GET", "\(LocalPaths.deliveries)/\(missing)").status == .notFound)
        }
        let elsewhere = try await self.fixture.send(.get, "\(LocalPaths.deliveries)/\(id)", user: "ada", bytes: [])
        #expect(elsewhere.status == .notFound)
    }

    @Test func theOperatorSeesTheRecipientsOfAnybodysNotification() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let id = try #require(path.split(separator: "/").last)
        let answer = try await self.send("GET", "\(LocalPaths.recipients)/\(id)")
        #expect(answer.text.hasPrefix(#"{"Recipients":[{"User":"alice","FetchedAt":null,"#), "\(answer.text)")
        #expect(try await self.send("GET", "\(LocalPaths.recipients)/1").status == .notFound)
    }

    @Test func theOperatorSendsToUsersAndTags() async throws {
        let alice = try await self.fixture.storage.user("alice")
        try await self.fixture.storage.addDevice(of: alice, handle: "a1", tags: ["news"])
        for to in ["username:alice", "news"] {
            let sent = try await self.send("POST", LocalPaths.notifications, #"{"Payload":"text","To":["\#(to)"]}"#)
            #expect(sent.status == .created, "\(sent.text)")
            #expect(try sent.json["Recipients"]?.integer == 1 && sent.json["Pushes"]?.integer == 1, "\(to)")
            let path = try #require(sent.fields[.location])
            let fetched = try await self.fixture.send(.get, path, user: "alice")
            #expect(try fetched.json["Payload"]?.text == "text")
            try await self.fixture.send(.get, path, user: "bob").expectProblem(.notFound)
        }
        let entry = try #require(try await self.fixture.storage.reader.auditEntries(before: nil, limit: 1).first)
        #expect([entry.action, entry.actor] == ["notification.send", "local root"])
        #expect(self.fixture.wakeUps.count == 2)
    }

    /// A notification without `To` goes to its sender. The operator at the socket is no user, so
    /// the operator must name the recipients.
    @Test(arguments: [
        (#"{"Payload":1}"#, ProblemCode.invalidMember), (#"{"Payload":1,"To":[]}"#, .invalidMember),
        (#""text""#, .invalidJSON),
        ("", .invalidJSON), (#"{"Payload":1,"To":["username:nobody"]}"#, .unknownUser),
    ])
    func aNotificationOfTheOperatorNeedsRecipients(body: String, code: ProblemCode) async throws {
        try await self.send("POST", LocalPaths.notifications, body).expectProblem(code)
    }

    @Test(arguments: [(-1, false), (0, false), (1, true)])
    func aNotificationOfTheOperatorCannotBeScheduledInThePast(seconds: TimeInterval, isScheduled: Bool) async throws {
        let time = (self.fixture.clock.now + seconds).rfc3339
        let body = #"{"Payload":1,"To":["username:alice"],"SendAt":"\#(time)"}"#
        let answer = try await self.send("POST", LocalPaths.notifications, body)
        guard isScheduled else { return try answer.expectProblem(.invalidMember, "SendAt has passed") }
        #expect(try answer.json["SendAt"]?.text == time)
    }

    @Test(arguments: [
        ("alice", "user", ["no-notification"]), ("nobody", nil, []),
        ("123", nil, []), ("BOB", "user", ["no-device", "no-notification"]),
    ])
    func aSubjectIsTheFirstThatExists(subject: String, kind: String?, causes: [String]) async throws {
        let alice = try await self.fixture.storage.user("alice")
        try await self.fixture.storage.addDevice(of: alice, handle: "a1")
        let response = try await self.send("GET", Paths.why(subject))
        // Over the public interface, a viewer gets the same explanation as the operator at the
        // socket.
        let seen = try await self.fixture.send(.get, Paths.why(subject), user: "vic")
        guard let kind else {
            try seen.expectProblem(.notFound, "there is no user")
            return try response.expectProblem(.notFound, "no stored notification \(subject)")
        }
        let answer = try response.json
        #expect(try seen.json == answer)
        #expect(answer["Kind"]?.text == kind)
        #expect(self.causes(answer) == causes, "\(answer)")
    }

    @Test func aDeviceAndItsUserAreExplainedByTheNewestOrTheGivenNotification() async throws {
        let alice = try await self.fixture.storage.user("alice")
        let device = try await self.fixture.storage.addDevice(of: alice, handle: "a1")
        let first = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        for delivery in try await self.fixture.storage.lease() {
            try await self.fixture.storage.settle(delivery, as: .failed(reason: "BadDeviceToken"))
        }
        self.fixture.clock.advance(by: 1)
        let second = try await self.fixture.post(#"{"Payload":2,"To":["username:alice"]}"#)
        let ids = try [first, second].map { try #require($0.split(separator: "/").last) }
        for subject in ["alice", device.description] {
            let newest = try await self.send("GET", Paths.why(subject)).json
            // In the fixture, pushes to APNs are paused.
            #expect(self.causes(newest) == ["paused"], "\(newest)")
            #expect("\(newest)".contains("InvalidProviderToken") && "\(newest)".contains(ids[1]), "\(newest)")
            let given = try await self.send("GET", "\(Paths.why(subject))?notification=\(ids[0])").json
            #expect(self.causes(given) == ["failed"] && "\(given)".contains("BadDeviceToken"), "\(given)")
        }
        let all = try await self.send("GET", Paths.why("\(ids[0])")).json
        #expect(all["Kind"] == .string("notification") && self.causes(all) == ["failed"], "\(all)")
        let bad = try await self.send("GET", "\(Paths.why("alice"))?notification=x")
        try bad.expectProblem(.invalidParameter, "notification")
    }

    /// No device is registered under the id of an unconfirmed registration. Lists of failed pushes
    /// contain this id nevertheless.
    @Test func aDeviceIsExplainedByThePushOfItsCode() async throws {
        let bob = try await self.fixture.storage.user("bob")
        let id = try #require(RegistrationID("d1"))
        try await self.fixture.storage.issue("d1", to: bob)
        let registration = DeviceRegistration(
            platform: Platform("fcm"),
            lane: Lane(Platform("fcm")),
            handle: try #require(DeviceHandle("x")),
            tags: [],
            confirmation: NotificationID(rawValue: 5)
        )
        let now = self.fixture.clock.now
        _ = try await self.fixture.storage.store.register(
            registration,
            as: id,
            for: bob,
            by: nil,
            within: nil,
            now: now
        )
        let push = try #require(try await self.fixture.storage.lease("fcm").first)
        try await self.fixture.storage.settle(push, as: .retried(at: now + 60, reason: "HTTP 503"))
        let entry = try #require(
            try await self.fixture.storage.reader.deliveries(of: push.push.notification, after: 0, limit: 1).first
        )
        for subject in ["bob", "d1", try #require(entry.device).description] {
            let answer = try await self.send("GET", Paths.why(subject)).json
            #expect(self.causes(answer) == ["unconfirmed", "no-notification"], "\(answer)")
            let words = "which is at \((now + 60).rfc3339), because attempt 1 failed: HTTP 503"
            #expect("\(answer)".contains(words), "\(answer)")
        }
    }

    private func causes(_ answer: JSONValue) -> [String] {
        guard case .array(let sentences) = answer["Sentences"] else { return [] }
        return sentences.compactMap { $0["Cause"]?.text }
    }

    /// A count made during the fan-out lacks the devices that are found later. If the server
    /// reused this count, the report could wrongly say that all pushes have ended.
    @Test func aCountMadeDuringFanOutIsNotReusedAfterIt() async throws {
        let storage = self.fixture.storage
        let (paul, alice) = (try await storage.user("paul"), try await storage.user("alice"))
        for number in 0..<4 { try await storage.addDevice(of: alice, handle: "a-\(number)", tags: ["news"]) }
        try await storage.post(1, from: paul, to: "news", page: 2)
        // The handler caches a count only if there are more pushes than its limit. With a limit of
        // one push, it caches the count of these two pushes.
        let handler = LocalDeliveryHandler(reports: self.fixture.reports, limit: 1)
        let growing = try await self.counts(by: handler)
        #expect(growing["FanningOut"] == .bool(true) && growing["Counts"]?["queued"]?.integer == 2)
        while try await storage.store.expandFanout(page: 2, now: storage.now) != nil {}
        let settled = try await self.counts(by: handler)
        #expect(settled["FanningOut"] == .bool(false) && settled["Counts"]?["queued"]?.integer == 4)
    }

    /// Returns the handler's answer about the pushes of notification 1.
    private func counts(by handler: LocalDeliveryHandler) async throws -> JSONValue {
        let head = try #require(RequestHead("GET /local/deliveries/1 HTTP/1.1\r\nHost: a\r\n\r\n"))
        let context = RequestContext(
            request: Request(head: head, body: RequestBody([]), peer: .process(user: 0), loopIndex: 0),
            id: RequestID(),
            caller: nil,
            parameter: (head.path.utf8.count - 1)..<head.path.utf8.count,
            reader: self.fixture.storage.reader,
            now: self.fixture.storage.now,
            isStrict: false
        )
        return try await #require(handler.routes.first).begin(context).response.json
    }

    @Test(arguments: [
        "", "?file=copy.db", "?file=./copy.db", "?file=", "?file=%2Ftmp%2Fa%0Ab",
        "?file=%2F\(String(repeating: "a", count: 4095))",
    ])
    func aBackupNeedsAnAbsolutePath(query: String) async throws {
        #expect(try await self.send("POST", "\(LocalPaths.backup)\(query)").status == .badRequest)
    }

    @Test(arguments: ["0x1", "-1", "4294967296", "1.5"])
    func aKeyIsNamedByItsNumberOnly(text: String) async throws {
        #expect(try await self.send("DELETE", "\(LocalPaths.keyring)/\(text)").status == .notFound)
    }

    /// The operator at the machine is not a user, and has no devices and no notifications.
    @Test(arguments: [
        ("POST", Paths.notifications), ("GET", Paths.notifications), ("POST", Paths.sessions), ("POST", Paths.register),
        ("GET", Paths.stream), ("PUT", Paths.ownPassword), ("GET", "/console/"), ("POST", Paths.setup),
    ])
    func routesOfUsersAreNotFoundOnTheSocket(method: String, path: String) async throws {
        #expect([.notFound, .methodNotAllowed].contains(try await self.send(method, path, "{}").status), "\(path)")
    }

    @Test(arguments: [#"{"Disabled": true}"#, #"{"Password": "another long one"}"#])
    func aChangeAppliesFromTheNextRequestOn(change: String) async throws {
        #expect(try await self.fixture.send(.get, Paths.register, user: "alice", bytes: []).status == .ok)
        #expect(try await self.send("PATCH", Paths.user("alice"), change).status == .noContent)
        #expect(try await self.fixture.send(.get, Paths.register, user: "alice", bytes: []).status == .unauthorized)
    }
}
