import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// With `Prefer: handling=strict`, the server refuses a request with a query parameter or a JSON
/// member that it does not know.
@Suite(.timeLimit(.minutes(5))) struct StrictHandlingTests {
    private static let routes = ServerFixture.routes.map { "\($0.method.rawValue) \($0.path)" }
    private static let strict = [("Prefer", "handling=strict")]

    private static func applied(_ response: Response) -> [String] {
        response.fields.lines.filter { $0.name == .preferenceApplied }.map(\.value)
    }

    private static func varies(_ response: Response) -> Bool {
        response.fields.lines.contains { $0.name == .vary && $0.value == "Prefer" }
    }

    // MARK: Every route

    @Test(arguments: Self.routes)
    func everyRouteRefusesAnUnknownParameterWithoutEffect(route: String) async throws {
        let row = try #require(AccessRow.all[route])
        try await self.expectRefusal(route, "?unheard-of=1", row.body, .unknownParameter)
    }

    @Test(arguments: Self.routes)
    func everyRouteRefusesAnUnknownMemberWithoutEffect(route: String) async throws {
        let row = try #require(AccessRow.all[route])
        // Without a payload, the server would refuse the post because the payload is missing.
        var known = route == "POST /api/notifications" ? #"{"Payload":1}"# : row.body
        // A body that is a JSON string has no members, so the test replaces it.
        if known.hasPrefix("\"") { known = "" }
        let body = known.isEmpty ? #"{"Unheard-of":1}"# : known.dropLast() + #","Unheard-of":1}"#
        try await self.expectRefusal(route, "", String(body), .unknownMember)
    }

    /// Sends the request for existing resources, so that it would have an effect if the server
    /// accepted it.
    private func expectRefusal(_ route: String, _ query: String, _ body: String, _ code: ProblemCode) async throws {
        let fixture = try await ServerFixture()
        let ada = try await fixture.storage.user("ada")
        let device = try await fixture.storage.addDevice(of: ada, handle: "ada-1").description
        let notification = try await fixture.post(#"{"Payload":1,"ReadOnce":true}"#, user: "ada")
        // This fetch leases the payload. So if `route` is the one that confirms fetches, its
        // request has something to confirm.
        try await fixture.send(.get, notification, user: "ada")
        let token = try await fixture.send(.post, Paths.tokens, user: "ada", body: #"{"User":"bob"}"#)
        let words = route.split(separator: " ").map(String.init)
        let resource = try #require(AccessRow.all[route]).resource
        let id =
            switch resource {
            case .notification: String(notification.split(separator: "/").last ?? "")
            case .user: "bob"
            case .token: try #require(try token.json["Prefix"]?.text)
            case .file: "console.js"
            case .nothing, .registration, .device, .streamDevice: device
            }
        let method = try #require(HTTPRequest.Method(words[0]))
        let target = words[1].filled(with: id) + query
        let before = try fixture.storage.bytesAtRest()
        let response = try await fixture.send(method, target, user: "ada", headers: Self.strict, body: body)
        try response.expectProblem(code, "nheard-of")
        #expect(Self.applied(response) == ["handling=strict"])
        #expect(Self.varies(response))
        #expect(try fixture.storage.bytesAtRest() == before)
        #expect(fixture.wakeUps.count == 1, "the notification from before")
    }

    @Test(arguments: AccessRow.all.keys.sorted())
    func aRequestWithKnownNamesIsAnsweredAsWithoutThePreference(route: String) async throws {
        // These routes are left out: the test of a device needs a provider that answers, and a
        // session can end only once.
        guard !route.hasSuffix("/test"), route != "DELETE /api/sessions/current" else { return }
        let row = try #require(AccessRow.all[route])
        let words = route.split(separator: " ").map(String.init)
        let method = try #require(HTTPRequest.Method(words[0]))
        var statuses: [Int] = []
        for headers in [[], Self.strict] {
            let fixture = try await ServerFixture()
            let target = words[1].filled(with: row.resource == .user ? "bob" : "1")
            let response = try await fixture.send(method, target, user: "ada", headers: headers, body: row.body)
            statuses.append(response.status.code)
            #expect(Self.applied(response) == headers.map(\.1))
        }
        #expect(statuses[0] == statuses[1])
    }

    // MARK: Known names

    private static let document = (try? JSONValue(reading: OpenAPIDocument.bytes)) ?? .null

    /// A route must declare each parameter and member that it reads. Otherwise the server would
    /// refuse it if a client demands strict handling.
    @Test(arguments: Self.routes)
    func aRouteDeclaresTheNamesOfTheDocument(name: String) throws {
        let route = try #require(ServerFixture.routes.first { "\($0.method.rawValue) \($0.path)" == name })
        let operation = try #require(Self.document["paths"]?[route.path]?[route.method.rawValue])
        let parameters = operation["parameters"]?.elements.map(Self.resolved).filter { $0["in"]?.text == "query" }
        #expect(Set(route.parameters) == Set(parameters?.compactMap { $0["name"]?.text } ?? []))
        let body = operation["requestBody"]?["content"]?["application/json"]?["schema"]
        #expect(Set(route.body.members) == (body.map(Self.members) ?? []))
    }

    private static func resolved(_ json: JSONValue) -> JSONValue {
        guard let reference = json["$ref"]?.text else { return json }
        let path = reference.split(separator: "/").dropFirst().map(String.init)
        return path.reduce(self.document) { $0[$1] ?? .null }
    }

    /// Returns the names of the members in a body's schema, including all its alternatives.
    private static func members(_ schema: JSONValue) -> Set<String> {
        let schema = self.resolved(schema)
        let own = schema["properties"]?.names ?? []
        return (schema["anyOf"]?.elements ?? []).reduce(into: Set(own)) { $0.formUnion(self.members($1)) }
    }

    // MARK: Words

    @Test(arguments: [
        (#"{"Payload":1,"ExpireIn":5}"#, #"the member "ExpireIn" is unknown; did you mean ExpiresIn?"#),
        (#"{"Payload":1,"ReadOne":true}"#, #"the member "ReadOne" is unknown; did you mean ReadOnce?"#),
        (#"{"Payload":1,"tos":[]}"#, #"the member "tos" is unknown; did you mean To?"#),
        (#"{"Payload":1,"Title":"x"}"#, #"the member "Title" is unknown; known are App, Payload, To, Platforms"#),
        (#"{"Payload":1,"":1}"#, #"the member "" is unknown; known are App, Payload"#),
        (#"{"Payload":1,"\#(String(repeating: "x", count: 99))":1}"#, "\"\(String(repeating: "x", count: 40))\" is"),
    ])
    func theProblemNamesTheMemberAndASimilarName(body: String, detail: String) async throws {
        let fixture = try await ServerFixture()
        try await fixture.send(.post, Paths.notifications, headers: Self.strict, body: body)
            .expectProblem(.unknownMember, detail)
        #expect(try await fixture.send(.post, Paths.notifications, body: body).status == .created)
    }

    @Test(arguments: [
        (Paths.users, "limt=5", #"the parameter "limt" is unknown; did you mean limit?"#),
        (Paths.users, "Limit=5", #"the parameter "Limit" is unknown; did you mean limit?"#),
        (Paths.users, "name=5", #"the parameter "name" is unknown; known are cursor, after, limit"#),
        ("/healthz", "x=%22", #"the parameter "x" is unknown; this request has no parameters"#),
        (Paths.notifications, "limit=5&&ünread=true", #"the parameter "ünread" is unknown; did you mean unread?"#),
    ])
    func theProblemNamesTheParameterAndASimilarName(path: String, query: String, detail: String) async throws {
        let encoded = query.replacing("ü", with: "%C3%BC")
        let fixture = try await ServerFixture()
        try await fixture.send(.get, "\(path)?\(encoded)", user: "ada", headers: Self.strict)
            .expectProblem(.unknownParameter, detail)
        #expect(try await fixture.send(.get, "\(path)?\(encoded)", user: "ada").status == .ok)
    }

    // MARK: Forms of a post

    @Test(arguments: [
        ("?to_tag=bob", #""text""#, 200), ("?to_tag=bob", "", 400), ("?pns=apns", "", 400), ("", "", 200),
        ("?app=default", "", 200), ("?to_tag=bob", #"{"Payload":1}"#, 400), ("?pns=apns", #"{"Payload":1}"#, 400),
        ("?app=default", #"{"Payload":1}"#, 400), ("", #"{"payload":1,"READONCE":true}"#, 201),
        ("", #"{"Payload":{"Anything":1},"To":["username:bob"]}"#, 201),
    ])
    func recipientsInTheQueryAreForStringsOnly(query: String, body: String, status: Int) async throws {
        let fixture = try await ServerFixture()
        let target = Paths.notifications + query
        for headers in [Self.strict, []] {
            let response = try await fixture.send(.post, target, user: "paul", headers: headers, body: body)
            #expect(response.status.code == status, "\(response.text)")
            if status == 400 { try response.expectProblem(.unknownParameter, "only with a string as the body") }
        }
    }

    @Test func membersOfAHandleAreNotChecked() async throws {
        let handle = try #require(DeviceHandle("canonical"))
        let rule = SampleHandleRule(.object { _ in handle })
        let settings = ServerSettings { $0.platforms = [Platform("webpush"): .init(rule)] }
        let fixture = try await ServerFixture(settings: settings)
        let body = #"{"Platform":"webpush","Handle":{"endpoint":"x","expirationTime":null},"Tags":[]}"#
        let id = try await fixture.requestRegistration()
        let response = try await fixture.send(.put, Paths.registration(id), headers: Self.strict, body: body)
        #expect(response.status == .ok, "\(response.text)")
    }

    // MARK: Order of checks, other answers

    @Test func aRefusedCallerSeesNoStrictHandling() async throws {
        let fixture = try await ServerFixture()
        for (target, user) in [("/api/users?x=1", nil), ("/api/users?x=1", "alice"), ("/api/nothing?x=1", "alice")] {
            let response = try await fixture.send(.get, target, user: user, headers: Self.strict)
            #expect([401, 403, 404].contains(response.status.code))
            #expect(Self.applied(response) == [])
        }
    }

    @Test func otherErrorsReportStrictHandling() async throws {
        let fixture = try await ServerFixture()
        let missing = try await fixture.send(.get, "/api/notifications/1", headers: Self.strict)
        try missing.expectProblem(.notFound)
        #expect(Self.applied(missing) == ["handling=strict"])
        let noJSON = try await fixture.send(.post, Paths.notifications, headers: Self.strict, body: "{")
        try noJSON.expectProblem(.invalidJSON)
        let noText = try await fixture.send(.get, "/healthz?%FF=1", user: nil, headers: Self.strict)
        try noText.expectProblem(.invalidParameter)
    }

    @Test func aStrictAnswerVariesByPrefer() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#, user: "alice")
        let strict = try await fixture.send(.get, path, headers: Self.strict)
        #expect(strict.fields.lines.filter { $0.name == .vary }.map(\.value) == ["Authorization", "Prefer"])
        #expect(!Self.varies(try await fixture.send(.get, path)))
    }
}

extension JSONValue {
    /// The elements of an array. For other JSON values, this array is empty.
    fileprivate var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }

    /// The names of an object's members. For other JSON values, the set is empty.
    fileprivate var names: [String] {
        if case .object(let members) = self { members.map(\.name) } else { [] }
    }
}
