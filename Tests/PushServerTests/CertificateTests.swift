import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Callers that authenticate with a TLS certificate.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct CertificateTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
        try await self.fixture.storage.addDevice(of: self.fixture.storage.user("alice"), handle: "a1")
    }

    /// Lists the caller's devices. Only alice has one.
    private func list(_ certificate: String?, authorization: [String] = []) async throws -> Response {
        let fields = authorization.map { "Authorization: \($0)\r\n" }.joined()
        return try await self.send("GET /api/register HTTP/1.1\r\n\(fields)", body: "", certificate)
    }

    private func send(_ head: String, body: String, _ certificate: String?) async throws -> Response {
        let head = try #require(RequestHead(head + "Host: sealpost.test\r\nX-Request-Id: same\r\n\r\n"))
        let request = Request(
            head: head,
            body: RequestBody(Array(body.utf8)),
            peer: .unknown,
            loopIndex: 0,
            certificateName: certificate
        )
        return try await self.fixture.server.respond(to: request).response
    }

    @Test func aCertificateSignsItsUserIn() async throws {
        let response = try await self.list("alice")
        #expect(response.status == .ok)
        #expect(try response.json != .array([]))
    }

    @Test func theUsersRoleAppliesToACertificate() async throws {
        let order = #"{"Payload":"x","To":["username:bob"]}"#
        #expect(try await self.send("POST /api/notifications HTTP/1.1\r\n", body: order, "paul").status == .created)
        try await self.send("POST /api/notifications HTTP/1.1\r\n", body: order, "alice").expectProblem(.forbidden)
    }

    @Test(arguments: [
        "nobody", "Alice", "ALICE", "", "no name", "alice:x", "alice\u{0}", String(repeating: "a", count: 101),
    ])
    func anUnknownCertificateIsAnsweredLikeNoCertificate(name: String) async throws {
        let response = try await self.list(name)
        try response.expectProblem(.unauthorized)
        let reference = try await self.list(nil)
        #expect(response.body == reference.body)
        #expect(response.fields == reference.fields)
    }

    @Test func anAuthorizationFieldOverridesTheCertificate() async throws {
        let bob = try await self.list("alice", authorization: [ServerFixture.basic("bob")])
        #expect(bob.status == .ok)
        #expect(try bob.json == .array([]))
        for wrong in ["", "Basic", ServerFixture.basic("alice", password: "wrong password"), "Negotiate YII="] {
            try await self.list("alice", authorization: [wrong]).expectProblem(.unauthorized)
        }
        let twice = [ServerFixture.basic("alice"), ServerFixture.basic("alice")]
        try await self.list("alice", authorization: twice).expectProblem(.unauthorized)
    }

    @Test func anEarlierPasswordDoesNotReplaceTheCertificatesUser() async throws {
        #expect(try await self.list("bob", authorization: [ServerFixture.basic("alice")]).status == .ok)
        #expect(try await self.list("bob").json == .array([]))
        try await self.list(nil).expectProblem(.unauthorized)
    }

    @Test func aSessionBegunByACertificateEndsWithIt() async throws {
        let begun = try await self.send("POST /api/sessions HTTP/1.1\r\n", body: "", "alice")
        #expect(begun.status == .created)
        let bearer = "Bearer \(try #require(begun.json["Token"]?.text))"
        for _ in 0..<2 {
            // In the first turn of this loop, the server reads the token from the store; in the
            // second turn, it finds the token in its cache.
            #expect(try await self.list("alice", authorization: [bearer]).json != .array([]))
            for other in [nil, "bob", "ALICE", "nobody", ""] {
                try await self.list(other, authorization: [bearer]).expectProblem(.invalidBearerToken)
            }
        }
    }

    @Test func aSessionBegunByAPasswordNeedsNoCertificate() async throws {
        let basic = "Authorization: \(ServerFixture.basic("alice"))\r\n"
        let begun = try await self.send("POST /api/sessions HTTP/1.1\r\n\(basic)", body: "", "bob")
        let bearer = "Bearer \(try #require(begun.json["Token"]?.text))"
        for certificate in [nil, "bob", "alice"] {
            #expect(try await self.list(certificate, authorization: [bearer]).json != .array([]))
        }
    }
}
