import Foundation
import HTTPTypes
import PushAPI
import PushCore
import SocketHTTP
import Testing

@testable import PushServer

/// The OpenAPI document that the server publishes describes every route, and nothing else.
@Suite(.timeLimit(.minutes(5))) struct OpenAPITests {
    private static let document = (try? JSONValue(reading: OpenAPIDocument.bytes)) ?? .null
    /// Each operation of the document by its method and path.
    private static let operations = paths.reduce(into: [String: JSONValue]()) { operations, path in
        for method in path.value.members { operations["\(method.name.uppercased()) \(path.name)"] = method.value }
    }
    private static let paths = (document["paths"] ?? .null).members
    private static let routes = ServerFixture.routes.map { "\($0.method.rawValue) \($0.path)" }
    /// Statuses that the HTTP layer may answer on any path.
    private static let wire = [400, 408, 413, 414, 417, 431, 500, 501, 503, 505]

    @Test func everyRouteIsInTheDocumentAndNothingElse() {
        #expect(Self.operations.keys.sorted() == Self.routes.sorted())
        let ids = Self.operations.values.compactMap { $0["operationId"]?.text }
        #expect(Set(ids).count == Self.routes.count)
    }

    @Test(arguments: ServerFixture.routes.map { "\($0.method.rawValue) \($0.path)" })
    func anOperationsSecurityMatchesTheRoutesAccess(name: String) throws {
        let operation = try #require(Self.operations[name])
        let route = try #require(ServerFixture.routes.first { "\($0.method.rawValue) \($0.path)" == name })
        let description = try #require(operation["description"]?.text)
        switch route.access {
        case .anybody:
            #expect(operation["security"] == .array([]))
            #expect(description.hasSuffix("For anybody, without credentials."))
        case .atLeast(let role, let scopes, let seeing):
            // An operation without `security` has the document's default: it needs a password or a
            // token.
            #expect(operation["security"] == nil)
            #expect(description.contains(role == .device ? "For every user" : "`\(role.rawValue)`"))
            #expect(description.contains("a token needs the scope `\(scopes)`") == !scopes.isEmpty)
            #expect(description.contains("for viewers and administrators, `\(seeing)`") == !seeing.isEmpty)
        }
    }

    @Test(arguments: ServerFixture.routes.map { "\($0.method.rawValue) \($0.path)" })
    func anOperationListsTheStatusesThatItCanHave(name: String) throws {
        let responses = try #require(Self.operations[name]?["responses"]).members
        let listed = responses.compactMap { Int($0.name) }
        let route = try #require(ServerFixture.routes.first { "\($0.method.rawValue) \($0.path)" == name })
        let expected = Self.wire + (route.access == .anybody ? [] : [401, 403, 429])
        #expect(Set(expected).isSubset(of: listed), "\(Set(expected).subtracting(listed))")
        #expect(listed.contains { (200...299).contains($0) || $0 == 308 })
        for (status, answer) in zip(listed, responses) where status >= 400 {
            let parts = try #require(answer.value["$ref"]?.text).split(separator: "/")
            let component = try #require(self.component("responses", String(parts.last ?? "")))
            #expect(component["content"]?[Problem.contentType] != nil, "\(status)")
        }
    }

    @Test(arguments: ProblemCode.allCases)
    func everyProblemIsInTheDocumentWithItsStatus(code: ProblemCode) throws {
        let members = try #require(self.component("schemas", "Problem")?["properties"])
        for (name, value) in [
            ("type", JSONValue.string(code.type)), ("title", .string(code.title)), ("status", .number(code.status)),
        ] {
            guard case .array(let values)? = members[name]?["enum"] else {
                Issue.record("\(name) has no list")
                continue
            }
            #expect(values.contains(value))
            #expect(name == "status" || values.count == ProblemCode.allCases.count)
        }
        // Only two schemas contain the code: `Problem`, and the schema of all problems with the
        // same status.
        let schemas = (Self.document["components"]?["schemas"] ?? .null).members.filter {
            $0.name != "Problem" && String(decoding: $0.value.bytes, as: UTF8.self).contains("\"\(code.type)\"")
        }
        let text = try #require(schemas.first.map { String(decoding: $0.value.bytes, as: UTF8.self) })
        #expect(schemas.count == 1)
        #expect(text.contains("\"enum\":[\(code.status)]"))
    }

    // MARK: How it is given out

    @Test func anybodyMayReadAndRevalidateTheDocument() async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.get, Paths.openAPI, user: nil)
        #expect(response.status == .ok)
        #expect(response.body == OpenAPIDocument.bytes)
        #expect(response.fields[.contentType] == "application/json; charset=utf-8")
        #expect(response.fields[.cacheControl] == "no-cache")
        let tag = try #require(response.fields[.eTag])
        #expect(tag.wholeMatch(of: /"[0-9a-f]{32}"/) != nil)
        let headers = [("If-None-Match", tag)]
        let unchanged = try await fixture.send(.get, Paths.openAPI, user: nil, headers: headers)
        #expect(unchanged.status == .notModified)
        #expect(unchanged.body.isEmpty)
        #expect(unchanged.fields[.eTag] == tag)
        #expect(unchanged.fields[.cacheControl] == "no-cache")
        let changed = try await fixture.send(.get, Paths.openAPI, user: nil, headers: [("If-None-Match", "\"other\"")])
        #expect(changed.status == .ok)
    }

    @Test(arguments: [
        (Paths.users, #"{"Name":"e#1@x","Password":"seven of nine 42"}"#, "/api/users/e%231@x"),
        (Paths.sessions, "", Paths.currentSession), (Paths.tokens, #"{"User":"bob"}"#, "/api/tokens/spt_"),
        (Paths.notifications, #"{"Payload":1}"#, "/api/notifications/"),
    ])
    func aCreatedResourceHasALocation(path: String, body: String, location: String) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.post, path, user: "ada", body: body)
        #expect(response.status == .created)
        let made = try #require(response.fields[.location])
        #expect(made.hasPrefix(location))
        if path == Paths.users { #expect(try await fixture.send(.get, made, user: "ada").status == .ok) }
    }

    // MARK: - Private

    private func component(_ kind: String, _ name: String) -> JSONValue? {
        Self.document["components"]?[kind]?[name]
    }
}

extension JSONValue {
    /// The members of an object. For other JSON values, the array is empty.
    fileprivate var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }
}
