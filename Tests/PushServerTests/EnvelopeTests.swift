import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The header fields that every answer has. `ServerFixture` checks most of them in every answer of
/// every test.
@Suite(.timeLimit(.minutes(5))) struct EnvelopeTests {
    /// One request for each status that a test can provoke without damaging the server or its
    /// store.
    enum Sample: Int, CaseIterable, Sendable {
        case ok = 200
        case created = 201
        case notModified = 304
        case badRequest = 400
        case unauthorized = 401
        case forbidden = 403
        case notFound = 404
        case methodNotAllowed = 405
        case conflict = 409
        case gone = 410
        case contentTooLarge = 413
        case serverError = 500
        case serviceUnavailable = 503
    }

    private func send(_ sample: Sample, headers: [(String, String)]) async throws -> Response {
        try await self.send(sample, headers: headers, signingKeys: SigningKeys(.random())).response
    }

    /// Returns the answer to the sample's request, and the server that sent this answer.
    func send(
        _ sample: Sample,
        headers: [(String, String)],
        signingKeys: SigningKeys,
        settings: ServerSettings = .forTests
    ) async throws -> (response: Response, fixture: ServerFixture) {
        let fixture = try await ServerFixture(
            settings: settings,
            signingKeys: signingKeys,
            troubles: ["the disk is full"]
        )
        return (try await self.send(sample, headers: headers, to: fixture), fixture)
    }

    private func send(
        _ sample: Sample,
        headers: [(String, String)],
        to fixture: ServerFixture
    ) async throws -> Response {
        let send = { (method: HTTPRequest.Method, target: String, body: String) in
            try await fixture.send(method, target, user: "ada", headers: headers, body: body)
        }
        switch sample {
        case .ok: return try await send(.get, "/api/register", "")
        case .created: return try await send(.post, "/api/notifications", #"{"Payload":1}"#)
        case .notModified:
            let path = try await fixture.post(#"{"Payload":1}"#)
            return try await fixture.send(.get, path, user: "paul", headers: headers + [("If-None-Match", "*")])
        case .badRequest: return try await send(.post, "/api/notifications", "{")
        case .unauthorized: return try await fixture.send(.get, "/api/register", user: nil, headers: headers)
        case .forbidden: return try await fixture.send(.post, "/api/users", user: "alice", headers: headers)
        case .notFound: return try await send(.get, "/api/notifications/1", "")
        case .methodNotAllowed: return try await send(.delete, "/api/notifications", "")
        case .conflict:
            return try await send(.post, "/api/users", #"{"Name":"Bob","Password":"long enough"}"#)
        case .gone: return try await self.retiredRegistration(fixture, send)
        case .contentTooLarge:
            return try await send(.post, "/api/notifications", String(repeating: " ", count: 262_145))
        case .serverError: return try await self.unreadableNotification(fixture, headers: headers)
        case .serviceUnavailable: return try await send(.get, "/readyz", "")
        }
    }

    @Test(arguments: Sample.allCases)
    func theTokenComesBackWithEveryStatus(sample: Sample) async throws {
        let response = try await self.send(sample, headers: [("MyToken", "1000")])
        #expect(response.status.code == sample.rawValue)
        #expect(response.fields[.myToken] == "17003")
        #expect(response.rawNames.contains("MyToken"), "spelled exactly so")
    }

    @Test(arguments: Sample.allCases)
    func theRequestIDComesBackWithEveryStatus(sample: Sample) async throws {
        let response = try await self.send(sample, headers: [("X-Request-Id", "Ab_9-z")])
        #expect(response.status.code == sample.rawValue)
        #expect(response.fields[.requestID] == "Ab_9-z")
    }

    @Test(arguments: Sample.allCases)
    func aRequestWithoutAnIDGetsAnIDAndNoToken(sample: Sample) async throws {
        let response = try await self.send(sample, headers: [])
        #expect(response.status.code == sample.rawValue)
        #expect(response.fields[.myToken] == nil)
        #expect(try #require(response.fields[.requestID]).count >= 8)
    }

    // MARK: Request id

    @Test(arguments: ["a", "0", String(repeating: "x", count: 128)])
    func aValidRequestIDIsKept(id: String) async throws {
        let response = try await ServerFixture().send(.get, "/healthz", headers: [("x-request-id", id)])
        #expect(response.fields[.requestID] == id)
    }

    @Test(arguments: ["", "a b", "a,b", "ä", "<x>", "a.b", String(repeating: "x", count: 129)])
    func anInvalidRequestIDIsReplaced(id: String) async throws {
        let response = try await ServerFixture().send(.get, "/healthz", headers: [("X-Request-Id", id)])
        #expect(response.fields[.requestID] != id)
    }

    @Test func generatedRequestIDsDiffer() async throws {
        let fixture = try await ServerFixture()
        let one = try await fixture.send(.get, "/healthz").fields[.requestID]
        let two = try await fixture.send(.get, "/healthz").fields[.requestID]
        #expect(one != two)
    }

    @Test func twoRequestIDsAreReplaced() async throws {
        let headers = [("X-Request-Id", "a"), ("X-Request-Id", "b")]
        let response = try await ServerFixture().send(.get, "/healthz", headers: headers)
        #expect(try #require(response.fields[.requestID]).count >= 8)
    }

    // MARK: Answers, logs and files

    @Test func anInternalErrorDoesNotRevealItsReason() async throws {
        let fixture = try await ServerFixture()
        let response = try await self.unreadableNotification(fixture, headers: [])
        try response.expectProblem(.internalError)
        #expect(try response.problem.detail == nil)
    }

    @Test func theLogHoldsNeitherPayloadsNorPasswordsNorHandles() async throws {
        let fixture = try await ServerFixture()
        let id = try await fixture.requestRegistration(handle: "5ec4e7")
        try await fixture.send(
            .put,
            Paths.registration(id),
            body: #"{"Platform":"apns","Handle":"5ec4e7"}"#
        )
        let path = try await fixture.post(#"{"Payload":"the treasure","To":["username:alice"]}"#)
        try await fixture.send(.get, path)
        try await fixture.send(.post, "/api/notifications", body: #"{"Payload":"the treasure"#)
        let lines = fixture.log.lines
        #expect(lines.count == 5)
        for secret in ["treasure", "5ec4e7", "wörd", ServerFixture.basic("alice"), path] {
            #expect(!lines.contains { $0.contains(secret) }, "\(secret)")
        }
    }

    @Test func aPayloadIsNowhereOnTheDisk() async throws {
        let fixture = try await ServerFixture()
        try await fixture.storage.addDevice(of: fixture.storage.user("alice"), handle: "aa", tags: ["a-plain-word"])
        _ = try await fixture.post(#"{"Payload":"the treasure","CollapseKey":"a-word-of-the-sender"}"#)
        let contents = try fixture.storage.folder.contents()
        #expect(contents.range(of: Data("publisher".utf8)) != nil, "what is not sealed is found")
        for word in ["treasure", "a-word-of-the-sender", "a-plain-word"] {
            #expect(contents.range(of: Data(word.utf8)) == nil, "\(word)")
        }
    }

    // MARK: - Private

    private func retiredRegistration(
        _ fixture: ServerFixture,
        _ send: (HTTPRequest.Method, String, String) async throws -> Response
    ) async throws -> Response {
        let body = #"{"Platform":"apns","Handle":"aa"}"#
        for id in ["one", "two"] {
            try await fixture.issue(id, to: "ada")
            try await fixture.send(.put, Paths.registration(id), user: "ada", body: body)
        }
        return try await send(.put, Paths.registration("one"), body)
    }

    /// Fetches a notification whose payload cannot be decrypted, because it was encrypted for
    /// another row.
    private func unreadableNotification(
        _ fixture: ServerFixture,
        headers: [(String, String)]
    ) async throws -> Response {
        let (id, other) = try (#require(NotificationID(rawValue: 1)), #require(NotificationID(rawValue: 2)))
        let ada = try await fixture.storage.user("ada")
        _ = try await fixture.storage.store.post(
            NewNotification(
                id: id,
                sender: ada.id,
                sealedPayload: fixture.storage.store.vault.seal(Data("1".utf8), in: .payload(other, sender: ada.id)),
                audience: fixture.storage.store.hashed(Audience([.tag(Tag(of: ada.name))])),
                createdAt: fixture.clock.now,
                expiresAt: fixture.clock.now + 60
            )
        )
        return try await fixture.send(.get, Paths.notification(id.rawValue), user: "ada", headers: headers)
    }
}
