import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Users may change their own password if they know the present one.
@Suite(.timeLimit(.minutes(5))) struct OwnPasswordTests {
    private func change(
        _ fixture: ServerFixture,
        from current: String = ServerFixture.password,
        to new: String,
        headers: [(String, String)]? = nil
    ) async throws -> Response {
        try await fixture.send(
            .put,
            Paths.ownPassword,
            user: headers == nil ? "alice" : nil,
            headers: headers ?? [],
            body: #"{"Current":"\#(current)","New":"\#(new)"}"#
        )
    }

    @Test func aPasswordChangeEndsAllSessions() async throws {
        let fixture = try await ServerFixture()
        let session = try await fixture.send(.post, Paths.sessions)
        let bearer = [("Authorization", "Bearer \(try #require(try session.json["Token"]?.text))")]
        for loop in 0..<ServerFixture.loops { #expect(try await fixture.list(loop: loop) == .ok) }
        let response = try await self.change(fixture, to: "ein neues Paßwort", headers: bearer)
        #expect(response.status == .noContent)
        #expect(response.body.isEmpty)
        try await fixture.send(.get, Paths.register, user: nil, headers: bearer).expectProblem(.invalidBearerToken)
        for loop in 0..<ServerFixture.loops {
            #expect(try await fixture.list(loop: loop) == .unauthorized)
            #expect(try await fixture.list(password: "ein neues Paßwort", loop: loop) == .ok)
        }
        #expect(try await fixture.list("bob") == .ok)
    }

    @Test func aPasswordChangeDoesNotRehashOtherUsers() async throws {
        let fixture = try await ServerFixture()
        let others = ["bob", "paul"]
        for name in others { #expect(try await fixture.list(name) == .ok) }
        #expect(try await self.change(fixture, to: "ein neues Paßwort").status == .noContent)
        let before = fixture.authenticator.samples
        for name in others {
            for loop in 0..<ServerFixture.loops { #expect(try await fixture.list(name, loop: loop) == .ok) }
        }
        #expect(fixture.authenticator.samples == before)
    }

    /// In an earlier version, any number of new passwords could wait to be hashed, and sign-ins
    /// had to wait behind them.
    @Test func hashesOfNewPasswordsAreLimited() async throws {
        let authenticator = try await ServerFixture().authenticator
        let alice = try #require(Username("alice"))
        let outcomes = await withTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    await Result {
                        try await authenticator.hash(
                            Secret("ein neues Paßwort"),
                            chosenFor: alice,
                            by: alice,
                            from: nil
                        )
                    }
                }
            }
            return await group.reduce(into: [Result<PasswordHash, any Error>]()) { $0.append($1) }
        }
        #expect(outcomes.contains { if case .success = $0 { true } else { false } })
        #expect(
            outcomes.contains { if case .failure(let error as Problem) = $0 { error.code == .busy } else { false } }
        )
    }

    @Test(arguments: ["wrong password", "", "pass: wo\u{308}rd: 123", String(repeating: "x", count: 300)])
    func aWrongCurrentPasswordChangesNothing(current: String) async throws {
        let fixture = try await ServerFixture()
        // The status is not 401, because a client would then ask the user for the credentials
        // again.
        let response = try await self.change(fixture, from: current, to: "another password")
        try response.expectProblem(.wrongPassword, "Current is not the user's present password")
        #expect(response.fields[.wwwAuthenticate] == nil)
        #expect(try await fixture.storedPassword() == ServerFixture.passwordHash)
    }

    @Test(arguments: [
        ("1234567", "New: a password must have at least 8 characters and at most 256 bytes"),
        ("Password1", "New: this password is too common"),
        ("line\\nline", "New: a password must not contain control characters"),
    ])
    func anInvalidNewPasswordIsNamed(new: String, detail: String) async throws {
        let fixture = try await ServerFixture()
        try await self.change(fixture, to: new).expectProblem(.invalidMember, detail)
        #expect(try await fixture.storedPassword() == ServerFixture.passwordHash)
    }

    @Test(arguments: [
        (#"{"Current":"x"}"#, "New is missing"), (#"{"New":"x"}"#, "Current is missing"),
        (#"{"Current":1,"New":"x"}"#, "Current must be a string"),
    ])
    func bothPasswordsAreRequired(body: String, detail: String) async throws {
        try await ServerFixture().send(.put, Paths.ownPassword, body: body).expectProblem(.invalidMember, detail)
    }

    @Test func aUserNamedCurrentIsNotAffected() async throws {
        let fixture = try await ServerFixture()
        try await fixture.storage.addUser("current", role: .device, ServerFixture.passwordHash)
        #expect(try await self.change(fixture, to: "another password").status == .noContent)
        #expect(try await fixture.list("current") == .ok)
        #expect(try await fixture.send(.get, Paths.user("current"), user: "ada").json["Name"] == .string("current"))
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
