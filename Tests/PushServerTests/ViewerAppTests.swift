import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// A viewer sees the users, devices and pushes only of the apps to which the viewer belongs.
@Suite(.timeLimit(.minutes(5))) struct ViewerAppTests {
    /// A request of the viewer Vic, whose app is the bank, and its answer.
    private struct Row {
        let route: String
        /// In the target, `D` stands for the default app's resource, and `B` for the bank's.
        let target: String
        var status = HTTPResponse.Status.ok
        /// A text that the answer must contain, and names and other texts that it must not
        /// contain.
        var has = ""
        var lacks = ["alice", "paul", "bob"]
    }

    private static let rows = [
        Row(route: "GET /api/users", target: "/api/users", has: #""Name":"bea""#),
        Row(route: "GET /api/users", target: "/api/users?limit=1", lacks: ["alice", "paul", "bob"]),
        Row(route: "GET /api/users/{id}", target: "/api/users/alice", status: .notFound, lacks: []),
        Row(route: "GET /api/users/{id}", target: "/api/users/bea", has: "bea"),
        Row(route: "GET /api/devices", target: "/api/devices", has: "bea"),
        Row(route: "GET /api/devices", target: "/api/devices?user=alice", status: .notFound, has: "you see no user"),
        Row(route: "GET /api/devices", target: "/api/devices?user=nobody", status: .notFound, has: "you see no user"),
        Row(route: "GET /api/devices", target: "/api/devices?user=bea", has: #""State":"requested""#),
        Row(route: "GET /api/audit", target: "/api/audit", has: #""Actor":"tess""#),
        Row(route: "GET /api/audit", target: "/api/audit?words=alice"),
        Row(route: "GET /api/audit", target: "/api/audit?action=user.change", has: #""Subject":"bea""#),
        Row(route: "GET /api/status", target: "/api/status", has: #""Name":"bank:apns""#, lacks: [#""Name":"apns""#]),
        Row(route: "GET /api/events", target: "/api/events", has: #""User":"bea""#),
        Row(route: "GET /api/deliveries", target: "/api/deliveries", has: #""User":"bea""#),
        Row(route: "GET /api/deliveries", target: "/api/deliveries?app=bank&user=bea", has: #""User":"bea""#),
        Row(route: "GET /api/deliveries", target: "/api/deliveries?user=alice", status: .notFound, has: "see no user"),
        Row(route: "GET /api/deliveries", target: "/api/deliveries?user=none", status: .notFound, has: "see no user"),
        Row(route: "GET /api/deliveries", target: "/api/deliveries?app=default", status: .notFound, has: "see no app"),
        Row(route: "GET /api/deliveries", target: "/api/deliveries?app=none", status: .notFound, has: "see no app"),
        Row(route: "GET /api/why/{id}", target: "/api/why/alice", status: .notFound, lacks: ["apns"]),
        Row(route: "GET /api/why/{id}", target: "/api/why/bea", has: #""Kind":"user""#),
        Row(route: "GET /api/notifications/{id}/deliveries", target: "D/deliveries", status: .notFound),
        Row(route: "GET /api/notifications/{id}/deliveries", target: "B/deliveries", has: #""User":"bea""#),
        Row(route: "GET /api/notifications/{id}/recipients", target: "D/recipients", status: .notFound),
        Row(route: "GET /api/notifications/{id}/recipients", target: "B/recipients", has: #""User":"bea""#),
    ]

    private static let bank = AppName("bank") ?? .usual

    /// Each app has a publisher, a device, and a notification whose push has failed and whose
    /// recipient has fetched it.
    private func makeFixture(_ kind: StoreKind) async throws -> (ServerFixture, notifications: [String: String]) {
        let rules = [
            Platform("apns"): ServerSettings.PlatformRule(SampleHandleRule()),
            Platform("hook"): ServerSettings.PlatformRule(SampleHandleRule(isGuessable: true)),
            Platform("apns", of: Self.bank): ServerSettings.PlatformRule(SampleHandleRule()),
        ]
        let settings = ServerSettings.forTests(\.platforms, rules)
        let fixture = try await StoreKind.$current.withValue(kind) { try await ServerFixture(settings: settings) }
        try await fixture.storage.addUser("tess", role: .publisher, ServerFixture.passwordHash)
        try await fixture.storage.addUser("bea", role: .device, ServerFixture.passwordHash)
        for user in ["tess", "bea", "vic"] { try await self.set(["bank"], of: user, in: fixture) }
        var notifications: [String: String] = [:]
        for (app, sender, user, lane) in [("D", "paul", "alice", "apns"), ("B", "tess", "bea", "bank:apns")] {
            let owner = try await fixture.storage.user(user)
            try await fixture.storage.addDevice(of: owner, platform: lane, handle: app)
            _ = try await fixture.requestRegistration(user: user)
            let path = try await fixture.post(#"{"Payload":"x","To":["username:\#(user)"]}"#, user: sender)
            for delivery in try await fixture.storage.lease(lane) {
                try await fixture.storage.settle(delivery, as: .failed(reason: "BadDeviceToken"))
            }
            #expect(try await fixture.send(.get, path, user: user).status == .ok)
            notifications[app] = path
        }
        try await fixture.storage.store.writeReceipts()
        return (fixture, notifications)
    }

    private func set(_ apps: [String], of user: String, in fixture: ServerFixture) async throws {
        let body = #"{"Apps":[\#(apps.map { "\"\($0)\"" }.joined(separator: ","))]}"#
        #expect(try await fixture.send(.patch, Paths.user(user), user: "ada", body: body).status == .noContent)
    }

    @Test func eachRouteThatViewersUseIsInTheTable() {
        let seeing: [String] = AuthorisationTests.seeing.filter { $0.value == .view }.map(\.key)
        let tested = Set(Self.rows.map(\.route))
        #expect(tested == Set(seeing))
    }

    @Test(arguments: StoreKind.all) func aViewerSeesItsAppsOnly(kind: StoreKind) async throws {
        let (fixture, notifications) = try await self.makeFixture(kind)
        for row in Self.rows {
            var target = row.target
            if let path = notifications[String(target.prefix(1))] { target = path + target.dropFirst() }
            let answer = try await fixture.send(.get, target, user: "vic")
            #expect(answer.status == row.status && answer.text.contains(row.has), "\(target): \(answer.text)")
            // A name is a whole word, since a cursor's random letters may spell `bob`.
            let words = Set(answer.text.split { !$0.isLetter && !$0.isNumber }.map(String.init))
            // A problem's detail may repeat the text that the viewer has sent in the target.
            for text in row.lacks where !target.contains(text) {
                let isShown = text.contains("\"") ? answer.text.contains(text) : words.contains(text)
                #expect(!isShown, "\(target) shows \(text): \(answer.text)")
            }
        }
    }

    /// A viewer gets no explanation about another app, neither by the name of a user nor by the id
    /// of a device or a notification.
    @Test(arguments: StoreKind.all) func aViewerGetsNoReasonsAboutOtherApps(kind: StoreKind) async throws {
        let (fixture, notifications) = try await self.makeFixture(kind)
        for (app, user, isSeen) in [("D", "alice", false), ("B", "bea", true)] {
            let owner = try await fixture.storage.user(user)
            let devices = try await fixture.storage.reader.devices(ofUser: owner.id).map(\.id.description)
            let number = try #require(notifications[app]?.split(separator: "/").last).description
            #expect(!devices.isEmpty)
            for subject in devices + [number] {
                let answer = try await fixture.send(.get, Paths.why(subject), user: "vic")
                #expect(answer.status == (isSeen ? .ok : .notFound), "\(subject): \(answer.text)")
                #expect(try await fixture.send(.get, Paths.why(subject), user: "ada").status == .ok)
            }
        }
        let other = try #require(notifications["D"]?.split(separator: "/").last)
        for number in [other, "7"] {
            let answer = try await fixture.send(.get, "\(Paths.why("bea"))?notification=\(number)", user: "vic")
            let text = "Notification \(number) is not visible to you: it never existed, has expired and is deleted"
            #expect(answer.text.contains(text) && !answer.text.contains("expired at"), "\(answer.text)")
        }
        try await fixture.send(.get, Paths.why("alice"), user: "vic").expectProblem(.notFound, "you see no user")
        // The viewer sees cara, but no notification and no device of the other app.
        try await fixture.storage.addUser("cara", role: .device, ServerFixture.passwordHash)
        _ = try await fixture.post(#"{"Payload":"x","To":["username:cara"]}"#, user: "paul")
        let cara = try await fixture.storage.user("cara")
        try await fixture.storage.addDevice(of: cara, handle: "cara")
        try await self.set(["default", "bank"], of: "cara", in: fixture)
        let about = try await fixture.send(.get, Paths.why("cara"), user: "vic").text
        #expect(about.contains("None of the latest notifications for cara is visible to you"), "\(about)")
        #expect(about.contains("No device of cara is visible to you") && !about.contains("was sent"), "\(about)")
    }

    /// The viewer sees the user's device, but not the other app's handle that the device claims.
    @Test(arguments: StoreKind.all) func aViewerDoesNotSeeAHandleThatIsClaimedInAnotherApp(kind: StoreKind) async throws
    {
        let (fixture, _) = try await self.makeFixture(kind)
        try await self.set(["default", "bank"], of: "bea", in: fixture)
        let id = try await fixture.requestRegistration(user: "bea")
        let body = #"{"App":"default","Platform":"hook","Handle":"guessed"}"#
        let answer = try await fixture.send(.put, Paths.registration(id), user: "bea", body: body)
        #expect(answer.status == .ok)
        for subject in ["bea", id] {
            let seen = try await fixture.send(.get, Paths.why(subject), user: "vic").text
            #expect(seen.contains("not-registered") && !seen.contains("hook"), "\(seen)")
            #expect(try await fixture.send(.get, Paths.why(subject), user: "ada").text.contains("hook"))
        }
    }

    /// About the notifications of its apps, a viewer reads the same as an administrator.
    @Test(arguments: StoreKind.all, ["expired at", "was recalled at"])
    func aViewerReadsTheTrueStateOfANotification(kind: StoreKind, state: String) async throws {
        let (fixture, notifications) = try await self.makeFixture(kind)
        let path = try #require(notifications["B"])
        if state == "expired at" {
            fixture.clock.advance(by: 1e7)
        } else {
            #expect(try await fixture.send(.delete, path, user: "tess").status == .noContent)
        }
        let seen = try await fixture.send(.get, Paths.why("bea"), user: "vic").text
        let whole = try await fixture.send(.get, Paths.why("bea"), user: "ada").text
        #expect(seen.contains(state) && seen == whole, "\(seen), \(whole)")
    }

    /// A user may have the name of another app's former user.
    @Test(arguments: StoreKind.all) func aViewerSeesNoEntriesAboutAFormerUserOfAnotherApp(kind: StoreKind) async throws
    {
        let (fixture, _) = try await self.makeFixture(kind)
        let sent = "\(Paths.audit)?words=alice&action=notification.send"
        _ = try await fixture.post(#"{"Payload":"x"}"#, user: "alice")
        #expect(try await fixture.send(.delete, Paths.user("alice"), user: "ada").status == .noContent)
        fixture.clock.advance(by: 1)
        let body = #"{"Name":"alice","WithoutPassword":true,"Apps":["bank"]}"#
        #expect(try await fixture.send(.post, Paths.users, user: "ada", body: body).status == .created)
        #expect(try await fixture.send(.get, sent, user: "ada").text.contains(#""Actor":"alice""#))
        #expect(try await !fixture.send(.get, sent, user: "vic").text.contains(#""Actor":"alice""#))
        let added = try await fixture.send(.get, "\(Paths.audit)?action=user.add", user: "vic")
        #expect(added.text.contains(#""Subject":"alice""#))
    }

    /// A page may end at an entry of an app that the viewer does not see.
    @Test(
        arguments: StoreKind.all,
        [
            ("users", "Users"), ("devices", "Devices"), ("deliveries", "Deliveries"), ("events", "Events"),
            ("audit", "Entries"),
        ]
    )
    func aViewersCursorsRevealNothingAndContinueTheList(kind: StoreKind, list: (path: String, entries: String))
        async throws
    {
        let (fixture, _) = try await self.makeFixture(kind)
        let path = "/api/\(list.path)?limit="
        let whole = try await fixture.send(.get, path + "500", user: "vic").json[list.entries]
        var (found, lengths, query, hasMore) = ([JSONValue](), Set<Int>(), "", true)
        while hasMore, lengths.count <= 1 {
            let page = try await fixture.send(.get, path + "1" + query, user: "vic").json
            guard case .array(let entries)? = page[list.entries], let cursor = page["Cursor"]?.text else {
                throw StoreFixture.Missing("a page")
            }
            found += entries
            lengths.insert(cursor.count)
            query = "&cursor=\(cursor)"
            hasMore = page["More"] == .bool(true)
        }
        #expect(whole == .array(found) && !found.isEmpty)
        #expect(lengths.count == 1 && lengths.allSatisfy { $0 > 100 })
        let plain = try #require(try await fixture.send(.get, path + "1", user: "ada").json["Cursor"]?.text)
        try await fixture.send(.get, path + "1&cursor=\(plain)", user: "vic").expectProblem(.invalidCursor)
        try await fixture.send(.get, path + "1\(query)", user: "ada").expectProblem(.invalidCursor)
    }

    /// A viewer of only some apps may continue a list only with the `Cursor` of its last page. The
    /// server refuses numbers and names from such a viewer, so its error must not ask for them.
    @Test(arguments: [
        ("/api/events?since=1", "since", "the number of an event"),
        ("/api/audit?before=1", "before", "the number of an audit entry"),
        ("/api/users?after=bea", "after", "a user name"),
    ])
    func theProblemOfACursorStatesTheCallersRule(target: String, name: String, rule: String) async throws {
        let (fixture, _) = try await self.makeFixture(.sqlite)
        try await fixture.send(.get, target, user: "vic")
            .expectProblem(.invalidParameter, "\(name) must be the Cursor of another page")
        let bad = String(target.prefix { $0 != "=" }) + "=%20"
        let answer = try await fixture.send(.get, bad, user: "ada")
        try answer.expectProblem(.invalidParameter, "\(name) must be \(rule)")
    }

    @Test func aViewerOfAllAppsSeesAll() async throws {
        let (fixture, _) = try await self.makeFixture(.sqlite)
        try await self.set(["bank", "default"], of: "vic", in: fixture)
        for target in [Paths.users, Paths.devices, Paths.deliveries, Paths.events] {
            let answer = try await fixture.send(.get, target, user: "vic")
            #expect(answer.text.contains("alice") && answer.text.contains("bea"), "\(target): \(answer.text)")
        }
        #expect(try await fixture.send(.get, Paths.why("alice"), user: "vic").status == .ok)
        #expect(try await fixture.send(.get, Paths.audit, user: "vic").text.contains(#""Actor":"paul""#))
    }
}
