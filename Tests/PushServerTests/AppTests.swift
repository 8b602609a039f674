import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Users, devices and notifications of two apps on one server: a sender of one app cannot reach
/// the other app's users and devices.
@Suite(.timeLimit(.minutes(5))) struct AppTests {
    private static let bank = AppName("bank") ?? .usual

    private let fixture: ServerFixture

    /// Alice belongs to both apps, Bob and the publisher Paul to the default app, and the
    /// publisher Tess to the bank.
    init() async throws {
        let rules = [
            Platform("apns"): ServerSettings.PlatformRule(SampleHandleRule()),
            Platform("fcm"): ServerSettings.PlatformRule(SampleHandleRule()),
            Platform("apns", of: Self.bank): ServerSettings.PlatformRule(SampleHandleRule(), applicationServerKey: "k"),
        ]
        self.fixture = try await ServerFixture(settings: .forTests(\.platforms, rules))
        try await self.fixture.storage.addUser("tess", role: .publisher, ServerFixture.passwordHash)
        try await self.setApps(["default", "bank"], of: "alice")
        try await self.setApps(["bank"], of: "tess")
    }

    private func setApps(_ names: [String], of user: String) async throws {
        let body = #"{"Apps":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]}"#
        let response = try await self.fixture.send(.patch, Paths.user(user), user: "ada", body: body)
        #expect(response.status == .noContent, "\(response.text)")
    }

    private func register(_ app: String?, of user: String = "alice", handle: String = "aa") async throws -> Response {
        let id = try await self.fixture.requestRegistration(user: user)
        let member = app.map { #""App":"\#($0)","# } ?? ""
        let body = #"{\#(member)"Platform":"apns","Handle":"\#(handle)","Tags":["news"]}"#
        return try await self.fixture.send(.put, Paths.registration(id), user: user, body: body)
    }

    @Test(arguments: [
        ("alice", nil, HTTPResponse.Status.ok, "default"), ("alice", "default", .ok, "default"),
        ("alice", "bank", .ok, "bank"), ("bob", nil, .ok, "default"), ("tess", nil, .ok, "bank"),
        ("bob", "bank", .badRequest, "the user's apps are default"),
        ("tess", "default", .badRequest, "the user's apps are bank"),
        ("alice", "shop", .badRequest, "the user's apps are bank, default"),
        ("alice", "", .badRequest, "is not an app"),
        ("alice", "bank:apns", .badRequest, "is not an app"), ("ada", "bank", .ok, "bank"),
    ])
    func aDeviceRegistersForAnAppOfItsUser(user: String, app: String?, status: HTTPResponse.Status, words: String)
        async throws
    {
        let response = try await self.register(app, of: user)
        #expect(response.status == status)
        guard status == .ok else { return try response.expectProblem(.unknownApp, words) }
        let list = try await self.fixture.send(.get, Paths.register, user: user)
        #expect(list.text.contains(#""App":"\#(words)","Platform":"apns""#), "\(list.text)")
    }

    /// The form `bank:apns` of a platform's name, with the app before the colon, is for the
    /// database, logs and metrics. The server refuses it from clients.
    @Test func aPlatformNameWithAnAppPrefixIsRefused() async throws {
        let id = try await self.fixture.requestRegistration(user: "bob")
        let body = #"{"Platform":"bank:apns","Handle":"aa"}"#
        let response = try await self.fixture.send(.put, Paths.registration(id), user: "bob", body: body)
        try response.expectProblem(.unknownPlatform, "the known ones are apns, fcm")
    }

    @Test func aNotificationIsPushedListedAndFetchedInItsAppOnly() async throws {
        #expect(try await self.register("bank", handle: "b1").status == .ok)
        #expect(try await self.register("default", handle: "d1").status == .ok)
        let order = #"{"Payload":"secret","To":["username:alice"]}"#
        let path = try await self.fixture.post(order, user: "tess")
        #expect(try await self.fixture.storage.lease("bank:apns").map(\.push.handle) == ["b1"])
        #expect(try await self.fixture.storage.lease("apns").isEmpty)
        #expect(try await self.fixture.send(.get, path).text.contains("secret"))
        for (query, isListed) in [("", false), ("?app=default", false), ("?app=bank", true)] {
            let list = try await self.fixture.send(.get, Paths.notifications + query)
            #expect(list.text.contains("secret") == isListed, "\(query)")
        }
        try await self.setApps(["default"], of: "alice")
        #expect(try await self.fixture.send(.get, path).status == .notFound)
        #expect(try await self.fixture.send(.get, path, user: "ada").status == .notFound)
        try await self.fixture.send(.get, "\(Paths.notifications)?app=bank")
            .expectProblem(.unknownApp, "the user's apps are default")
        #expect(try await !self.fixture.send(.get, Paths.register).text.contains("bank"))
    }

    @Test(arguments: [
        ("paul", #""App":"bank","#, "alice", ProblemCode.unknownApp),
        ("tess", #""App":"default","#, "alice", .unknownApp),
        ("tess", "", "bob", .unknownUser), ("ada", #""App":"bank","#, "bob", .unknownUser),
        ("ada", #""App":"bank","Platforms":["fcm"],"#, "alice", .unknownPlatform),
    ])
    func aPublisherReachesOnlyTheUsersOfItsApps(user: String, app: String, to: String, code: ProblemCode) async throws {
        let body = #"{\#(app)"Payload":"x","To":["username:\#(to)"]}"#
        let response = try await self.fixture.send(.post, Paths.notifications, user: user, body: body)
        try response.expectProblem(code)
    }

    /// To a caller who is no administrator, the server answers as if a user of another app did not
    /// exist.
    @Test(arguments: [
        ("ada", "bank", "bob", "user bob does not belong to the app bank; the user's apps are default"),
        ("ada", "default", "tess", "user tess does not belong to the app default; the user's apps are bank"),
        ("ada", "default", "nobody", "user nobody does not exist"), ("tess", "bank", "bob", "user bob does not exist"),
        ("paul", "default", "tess", "user tess does not exist"),
        ("paul", "shop", "bob", "\"shop\" is not an app of this user; the user's apps are default"),
        ("ada", "shop", "bob", "\"shop\" is not an app of this server; the server's apps are bank, default"),
    ])
    func onlyAnAdministratorIsToldOfAUserOfAnotherApp(user: String, app: String, to: String, words: String)
        async throws
    {
        let body = #"{"App":"\#(app)","Payload":"x","To":["username:\#(to)"]}"#
        let response = try await self.fixture.send(.post, Paths.notifications, user: user, body: body)
        #expect(try response.json["detail"]?.text == words)
        // The server refuses the same post as an element of a batch, too.
        let batch = #"{"Notifications":[\#(body)]}"#
        let answer = try await self.fixture.send(.post, Paths.notificationBatch, user: user, body: batch)
        #expect(answer.status == .ok && answer.text.contains(#""detail":"#), "\(answer.text)")
        let escaped = words.replacing("\"", with: "\\\"")
        #expect(answer.text.contains(escaped), "\(answer.text)")
    }

    @Test func aTagReachesDevicesOfOneAppOnly() async throws {
        #expect(try await self.register("bank", handle: "b1").status == .ok)
        #expect(try await self.register("default", of: "bob", handle: "d1").status == .ok)
        let sent = try await self.fixture.send(
            .post,
            Paths.notifications,
            user: "tess",
            body: #"{"Payload":"x","To":["news"]}"#
        )
        #expect(
            sent.text.contains(#""App":"bank""#) && sent.text.contains(#""Recipients":1,"Pushes":1"#),
            "\(sent.text)"
        )
        let all = try await self.fixture.post(#"{"Payload":"x","To":["!beta"]}"#)
        let report = try await self.fixture.send(.get, "\(all)/deliveries", user: "paul")
        #expect(report.text.contains(#""App":"default","Platform":"apns""#) && !report.text.contains("bank"))
    }

    @Test func theShortFormsTakeTheAppFromTheQuery() async throws {
        #expect(try await self.register("bank", handle: "b1").status == .ok)
        for body in ["", #""text""#] {
            let sent = try await self.fixture.send(.post, "\(Paths.notifications)?app=bank", body: body)
            #expect(sent.status == .ok)
            #expect(try await self.fixture.storage.lease("bank:apns").count == 1)
        }
        try await self.fixture.send(.post, "\(Paths.notifications)?app=shop").expectProblem(.unknownApp)
    }

    @Test func aCursorIsValidForTheListOfOneApp() async throws {
        _ = try await self.fixture.post(#"{"Payload":"x","To":["username:alice"]}"#)
        let list = try await self.fixture.send(.get, "\(Paths.notifications)?app=default")
        let cursor = try #require(try list.json["Cursor"]?.text)
        let again = try await self.fixture.send(.get, "\(Paths.notifications)?cursor=\(cursor)")
        #expect(again.status == .ok)
        try await self.fixture.send(.get, "\(Paths.notifications)?app=bank&cursor=\(cursor)")
            .expectProblem(.invalidCursor)
    }

    @Test func eachAppHasItsOwnWebPushKey() async throws {
        #expect(try await self.fixture.send(.get, "\(Paths.webPushKey)?app=bank").text.contains(#""Key":"k""#))
        try await self.fixture.send(.get, Paths.webPushKey).expectProblem(.notFound)
        try await self.fixture.send(.get, "\(Paths.webPushKey)?app=bank", user: "bob").expectProblem(.unknownApp)
    }

    @Test(arguments: [
        (
            #"{"Name":"new","Password":"correct horse","Apps":["bank"]}"#, HTTPResponse.Status.created,
            #""Apps":["bank"]"#
        ),
        (#"{"Name":"new","Password":"correct horse"}"#, .created, #""Apps":["default"]"#),
        (#"{"Name":"new","Password":"correct horse","Apps":null}"#, .badRequest, "Apps must not be null"),
        (#"{"Name":"new","Password":"correct horse","Apps":[]}"#, .badRequest, "Apps must have at least one app"),
        (#"{"Name":"new","Password":"correct horse","Apps":["shop"]}"#, .badRequest, "the apps are bank default"),
        (#"{"Name":"new","Password":"correct horse","Apps":"bank"}"#, .badRequest, "array of strings"),
    ])
    func anAdministratorSetsTheAppsOfAUser(body: String, status: HTTPResponse.Status, words: String) async throws {
        let made = try await self.fixture.send(.post, Paths.users, user: "ada", body: body)
        #expect(made.status == status, "\(made.text)")
        #expect(made.text.contains(words), "\(made.text)")
        guard status == .created else { return }
        #expect(try await self.fixture.send(.get, Paths.user("new"), user: "ada").text.contains(words))
    }
}
