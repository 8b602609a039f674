import Bytes
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Every answer to a known caller identifies the caller's account in the field `Sealpost-Account`.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct AccountIDTests {
    private static func account(of user: String, _ fixture: ServerFixture) async throws -> String {
        let session = try await fixture.send(.get, Paths.currentSession, user: user)
        return try #require(session.json["Account"]?.text)
    }

    @Test(arguments: EnvelopeTests.Sample.allCases)
    func eachAnswerToAKnownCallerIdentifiesItsAccount(sample: EnvelopeTests.Sample) async throws {
        let (response, fixture) = try await EnvelopeTests().send(
            sample,
            headers: [],
            signingKeys: SigningKeys(.random())
        )
        let fields = response.fields.lines.filter { $0.name.rawName == "Sealpost-Account" }.map(\.value)
        let caller: String? =
            switch sample {
            // The request has no valid credentials, or its route is open to everybody and checks
            // no credentials.
            case .unauthorized, .serviceUnavailable: nil
            case .forbidden: "alice"
            case .notModified: "paul"
            default: "ada"
            }
        guard let caller else {
            #expect(fields.isEmpty)
            return
        }
        #expect(fields == [try await Self.account(of: caller, fixture)])
    }

    @Test func anIdentifierHas22CharactersAndBelongsToOneUser() async throws {
        let fixture = try await ServerFixture()
        var accounts: Set<String> = []
        for user in ServerFixture.roles.keys {
            let account = try await Self.account(of: user, fixture)
            #expect(account.utf8.count == 22 && Base64.url.bytes(in: account.utf8)?.count == 16)
            accounts.insert(account)
        }
        #expect(accounts.count == ServerFixture.roles.count)
    }

    @Test func allCredentialsOfAUserHaveOneIdentifier() async throws {
        let fixture = try await ServerFixture()
        let account = try await Self.account(of: "alice", fixture)
        let begun = try await fixture.send(.post, Paths.sessions)
        let session = try begun.json
        #expect(session["Account"]?.text == account && session["Name"]?.text == "alice")
        let token = try #require(session["Token"]?.text)
        for headers in [[("Authorization", "Bearer \(token)")], [("Authorization", ServerFixture.basic("ALICE"))]] {
            let response = try await fixture.send(.get, Paths.notifications, user: nil, headers: headers)
            #expect(response.status == .ok)
            #expect(response.fields[.account] == account)
        }
        let page = try await fixture.send(.post, Paths.sessions, body: #"{"Cookie":true}"#).json
        #expect(page["Account"]?.text == account && page["Name"]?.text == "alice")
    }

    @Test func anEnrolmentReturnsTheAccountID() async throws {
        let fixture = try await ServerFixture()
        let user = #"{"Name":"dora","WithoutPassword":true}"#
        #expect(try await fixture.send(.post, Paths.users, user: "ada", body: user).status == .created)
        let code = try await fixture.send(.post, Paths.userEnrolment("dora"), user: "ada").json["Code"]?.text
        let session = try await fixture.send(
            .post,
            Paths.enrolment,
            user: nil,
            body: #"{"Code":"\#(try #require(code))"}"#
        ).json
        let headers = [("Authorization", "Bearer \(try #require(session["Token"]?.text))")]
        let current = try await fixture.send(.get, Paths.currentSession, user: nil, headers: headers)
        #expect(try current.json["Account"] == session["Account"])
        #expect(current.fields[.account] == session["Account"]?.text)
    }

    /// All servers of one database send the same account identifier for a user, also after a
    /// restart. A server of another database sends another identifier.
    @Test func serversOfOneDatabaseGiveAUserTheSameIdentifier() async throws {
        let fixture = try await ServerFixture()
        let second = try await ServerFixture(storage: fixture.storage)
        let account = try await Self.account(of: "alice", fixture)
        #expect(try await Self.account(of: "alice", second) == account)
        let other = try await ServerFixture(keyring: Keyring.generateText())
        #expect(try await Self.account(of: "alice", other) != account)
    }

    @Test func aRecreatedUserHasAnotherIdentifier() async throws {
        let fixture = try await ServerFixture()
        let account = try await Self.account(of: "bob", fixture)
        #expect(try await fixture.send(.delete, Paths.user("bob"), user: "ada").status == .noContent)
        try await fixture.storage.addUser("bob", role: .device, ServerFixture.passwordHash)
        #expect(try await Self.account(of: "bob", fixture) != account)
    }
}
