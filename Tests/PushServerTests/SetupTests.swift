import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The first administrator, who is created with the setup code that the server prints at its
/// start.
@Suite(.timeLimit(.minutes(5))) struct SetupTests {
    /// Makes a server without users.
    private func fixture() async throws -> ServerFixture {
        try await ServerFixture(storage: StoreFixture(options: .withEvents))
    }

    private func setUp(
        _ fixture: ServerFixture,
        _ code: String,
        name: String = "ada",
        password: String = "correct horse battery"
    ) async throws -> Response {
        let body = #"{"Code":"\#(code)","Name":"\#(name)","Password":"\#(password)"}"#
        return try await fixture.send(.post, Paths.setup, user: nil, body: body)
    }

    @Test func theSetupCodeCreatesOneAdministratorOnce() async throws {
        let fixture = try await self.fixture()
        let code = fixture.setup.make().exposed
        #expect(try await self.setUp(fixture, code).status == .created)
        let credentials = ServerFixture.basic("ada", password: "correct horse battery")
        let users = try await fixture.send(.get, Paths.users, user: nil, headers: [("Authorization", credentials)])
        #expect(users.text.contains(#""Name":"ada","Role":"admin""#))
        try await self.setUp(fixture, code, name: "eve").expectProblem(.forbidden)
        let entries = try await fixture.storage.reader.auditEntries(before: nil, limit: 10)
        #expect(entries.map(\.detail) == ["admin, by the link"])
    }

    /// If the requests overlapped, each would find no user, and would create one before the other
    /// request's user is stored.
    @Test func concurrentSetupRequestsCreateOneAdministrator() async throws {
        let fixture = try await self.fixture()
        let code = fixture.setup.make().exposed
        let created = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<4 {
                group.addTask { try await self.setUp(fixture, code, name: "ada-\(number)").status == .created }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(created == 1)
    }

    @Test func aWrongSetupCodeCreatesNobody() async throws {
        let fixture = try await self.fixture()
        try await self.setUp(fixture, "").expectProblem(.forbidden)
        let old = fixture.setup.make().exposed
        let code = fixture.setup.make().exposed
        for wrong in ["", old, String(code.dropLast()), code + "0", code.uppercased() + "x"] {
            try await self.setUp(fixture, wrong).expectProblem(.forbidden)
        }
        #expect(try await !fixture.reports.run { try await $0.hasUsers() })
    }

    /// If the setup code stayed valid after a user was created, anybody who reads an old line of
    /// the terminal could become an administrator.
    @Test func theSetupCodeIsRefusedIfThereAreUsers() async throws {
        let fixture = try await ServerFixture()
        try await self.setUp(fixture, fixture.setup.make().exposed, name: "eve").expectProblem(.forbidden)
        #expect(try await fixture.send(.get, Paths.user("eve"), user: "ada").status == .notFound)
    }

    @Test func aBadNameOrPasswordLeavesTheSetupCodeValid() async throws {
        let fixture = try await self.fixture()
        let code = fixture.setup.make().exposed
        try await self.setUp(fixture, code, name: "a b").expectProblem(.invalidMember)
        try await self.setUp(fixture, code, name: "..").expectProblem(.invalidMember)
        try await self.setUp(fixture, code, password: "short").expectProblem(.invalidMember)
        #expect(try await self.setUp(fixture, code).status == .created)
    }
}
