import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// When the server hashes a password again, and which hash it computes for a user that does not
/// exist.
@Suite(.timeLimit(.minutes(5))) struct PasswordTests {
    private static let weak = PasswordParameters(memory: 8, passes: 1, lanes: 1)
    private static let strong = PasswordParameters(memory: 16, passes: 2, lanes: 2)

    // MARK: Rehashing

    @Test func aPasswordIsRehashedAfterTheParametersRise() async throws {
        let fixture = try await ServerFixture(parameters: Self.strong)
        let session = try await fixture.send(.post, Paths.sessions, user: "bob")
        let bob = try await fixture.storage.user("bob")
        #expect(try await fixture.storedPassword(of: "bob").parameters == Self.strong)
        #expect(try await fixture.storedPassword().parameters == Self.weak, "who has not signed in yet")
        let token = try #require(try session.json["Token"]?.text)
        let headers = [("Authorization", "Bearer \(token)")]
        #expect(try await fixture.send(.get, Paths.register, user: nil, headers: headers).status == .ok)
        #expect(try await fixture.storage.user("bob") == bob)
        for loop in 0..<ServerFixture.loops { #expect(try await fixture.list("bob", loop: loop) == .ok) }
        #expect(try await fixture.list("bob", password: "wrong password") == .unauthorized)
    }

    @Test func aWrongPasswordIsNotRehashed() async throws {
        let fixture = try await ServerFixture(parameters: Self.strong)
        #expect(try await fixture.list(password: "wrong password") == .unauthorized)
        #expect(try await fixture.storedPassword() == ServerFixture.passwordHash)
    }

    @Test func anEqualOrStrongerHashIsKept() async throws {
        for parameters in [Self.strong, Self.weak] {
            let fixture = try await ServerFixture(parameters: parameters)
            let hash = try PasswordHash(of: "another password", parameters: #require(Self.strong))
            try await fixture.storage.addUser("carol", role: .device, hash)
            #expect(try await fixture.list("carol", password: "another password") == .ok)
            #expect(try await fixture.storedPassword(of: "carol") == hash)
        }
    }

    @Test func aBurstDuringARehashIsAnsweredInFull() async throws {
        let fixture = try await ServerFixture(parameters: Self.strong)
        let statuses = try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for number in 0..<30 {
                group.addTask { try await fixture.list(loop: number % ServerFixture.loops) }
            }
            return try await group.reduce(into: [:]) { $0[$1.code, default: 0] += 1 }
        }
        #expect(statuses == [200: 30])
        #expect(try await fixture.storedPassword().matches(ServerFixture.password))
    }

    // MARK: Unknown names

    @Test func anUnknownNameCostsAsMuchAsAUser() async throws {
        let fixture = try await ServerFixture(parameters: Self.strong)
        for number in 0..<4 {
            let hash = PasswordHash.decoy(try #require(Self.strong))
            try await fixture.storage.addUser("strong\(number)", role: .device, hash)
        }
        let (authenticator, reader) = (fixture.authenticator, fixture.storage.reader)
        let names = try (0..<400).map { try #require(Username("nobody\($0)")) }
        let costs = try await Self.costs(of: names, authenticator, reader)
        // About as many users have the strong parameters as the weak ones. For unknown names, the
        // server therefore uses both parameters about equally often.
        #expect((120...280).contains(costs.count { $0 == Self.strong }))
        #expect(costs.allSatisfy { $0 == Self.strong || $0 == Self.weak })
        #expect(try await Self.costs(of: names, authenticator, reader) == costs)
        let upper = try names.map { try #require(Username($0.description.uppercased())) }
        #expect(try await Self.costs(of: upper, authenticator, reader) == costs)
        for name in names.prefix(20) {
            let decoy = try await authenticator.decoy(for: name, reader: reader)
            #expect(!decoy.matches(ServerFixture.password))
        }
    }

    private static func costs(
        of names: [Username],
        _ authenticator: Authenticator,
        _ reader: any AccountReader
    ) async throws -> [PasswordParameters?] {
        var costs: [PasswordParameters?] = []
        for name in names { costs.append(try await authenticator.decoy(for: name, reader: reader).parameters) }
        return costs
    }

    @Test func anUnknownNameCostsTheSameAfterARestart() async throws {
        let first = try await ServerFixture(parameters: Self.strong)
        let hash = PasswordHash.decoy(try #require(Self.strong))
        try await first.storage.addUser("strong", role: .device, hash)
        let second = try await ServerFixture(storage: first.storage, parameters: Self.strong)
        // By default, all fixtures have copies of one database, with the same keyring. This
        // fixture has a keyring of its own.
        let other = try await ServerFixture(keyring: Keyring.generateText(), parameters: Self.strong)
        try await other.storage.addUser("strong", role: .device, hash)
        let names = try (0..<400).map { try #require(Username("nobody\($0)")) }
        var costs: [[PasswordParameters?]] = []
        for fixture in [first, second, other] {
            costs.append(try await Self.costs(of: names, fixture.authenticator, fixture.storage.reader))
        }
        #expect(costs[0] == costs[1])
        #expect(costs[0] != costs[2])
    }

    @Test func anUnknownNameCostsTheConfiguredHashWithoutUsers() async throws {
        let fixture = try await ServerFixture(storage: StoreFixture(), parameters: Self.strong)
        let name = try #require(Username("nobody"))
        let decoy = try await fixture.authenticator.decoy(for: name, reader: fixture.storage.reader)
        #expect(decoy.parameters == Self.strong)
        #expect(try await fixture.list("nobody") == .unauthorized)
    }
}
