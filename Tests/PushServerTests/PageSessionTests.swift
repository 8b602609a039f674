import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Sessions of the console's web page. Each request needs a cookie and the field `Page-Token`,
/// which a page of another site cannot send.
@Suite(.timeLimit(.minutes(5))) struct PageSessionTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    /// The parts of a session that the browser stores.
    private struct Session {
        let cookie: String
        let pageToken: String

        var headers: [(String, String)] { [("Cookie", self.cookie), ("Page-Token", self.pageToken)] }
    }

    private func signIn(_ user: String = "ada") async throws -> Session {
        let response = try await self.fixture.send(.post, Paths.sessions, user: user, body: #"{"Cookie":true}"#)
        #expect(response.status == .created)
        let field = try #require(response.fields[.setCookie])
        return Session(
            cookie: String(field.prefix { $0 != ";" }),
            pageToken: try #require(try response.json["PageToken"]?.text)
        )
    }

    private func status(_ headers: [(String, String)], _ target: String = Paths.users) async throws -> Int {
        try await self.fixture.send(.get, target, user: nil, headers: headers).status.code
    }

    @Test func theTokenIsInACookieThatNoScriptReadsAndNotInTheAnswer() async throws {
        let response = try await self.fixture.send(.post, Paths.sessions, user: "ada", body: #"{"Cookie":true}"#)
        let field = try #require(response.fields[.setCookie])
        #expect(field.hasPrefix("__Host-sealpost=spt_"))
        #expect(field.contains("; Max-Age=43200; "))
        #expect(field.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Strict"))
        #expect(try response.json["Token"] == nil)
        #expect(!response.text.contains("spt_"))
        #expect(try response.json["Name"]?.text == "ada")
    }

    @Test func aPageSessionHasAllRightsOfTheRole() async throws {
        let session = try await self.signIn()
        let shown = try await self.fixture.send(.get, Paths.currentSession, user: nil, headers: session.headers)
        #expect(
            try shown.json["Scopes"]
                == .array(["fetch", "send", "register", "manage", "view", "metrics"].map { .string($0) })
        )
        #expect(try await self.status(session.headers) == 200)
    }

    @Test func aRequestNeedsTheCookieAndThePageToken() async throws {
        let session = try await self.signIn()
        let other = try await self.signIn()
        let cookie = ("Cookie", session.cookie)
        #expect(try await self.status(session.headers) == 200)
        for headers in [
            [cookie], [("Page-Token", session.pageToken)], [cookie, ("Page-Token", "")],
            [cookie, ("Page-Token", other.pageToken)],
            [cookie, ("Page-Token", session.pageToken), ("Page-Token", session.pageToken)],
            [cookie, ("Page-Token", String(session.pageToken.dropLast()))],
            [cookie, cookie, ("Page-Token", session.pageToken)],
            [("Cookie", "\(session.cookie); \(other.cookie)"), ("Page-Token", session.pageToken)],
            [("Cookie", "sealpost=\(session.cookie.dropFirst(16))"), ("Page-Token", session.pageToken)],
            [("Cookie", session.cookie.replacing("=spt", with: "=\"spt")), ("Page-Token", session.pageToken)],
        ] {
            #expect(try await self.status(headers) == 401, "\(headers)")
        }
    }

    @Test func otherCookiesAreIgnored() async throws {
        let session = try await self.signIn()
        let cookies = "theme=dark; a=b=c; \(session.cookie); empty="
        #expect(try await self.status([("Cookie", cookies), ("Page-Token", session.pageToken)]) == 200)
    }

    /// If the cookie were enough, a form on another site could delete a user, because the browser
    /// adds the cookie.
    @Test func theCookieAloneChangesNothing() async throws {
        let session = try await self.signIn()
        let forged = try await self.fixture.send(
            .delete,
            Paths.user("bob"),
            user: nil,
            headers: [("Cookie", session.cookie)]
        )
        try forged.expectProblem(.unauthorized)
        let user = try await self.fixture.send(.get, Paths.user("bob"), user: "ada")
        #expect(user.status == .ok)
    }

    @Test func aReloadedPageGetsItsPageTokenAgain() async throws {
        let session = try await self.signIn()
        let headers = [("Cookie", session.cookie), ("Page-Token", "new")]
        let response = try await self.fixture.send(.get, Paths.currentSession, user: nil, headers: headers)
        #expect(try response.json["PageToken"]?.text == session.pageToken)
        #expect(try await self.status([("Cookie", session.cookie)], Paths.currentSession) == 401)
    }

    @Test func theCurrentSessionIdentifiesPasswordCallersToo() async throws {
        let response = try await self.fixture.send(.get, Paths.currentSession, user: "alice")
        let account = try #require(response.fields[.account])
        #expect(
            response.text
                == #"{"Name":"alice","Account":"\#(account)","Role":"device","Scopes":["fetch","send","register"],"ExpiresAt":null,"#
                + #""PageToken":null}"#
        )
    }

    /// A browser that receives a Basic challenge shows its own password dialogue.
    @Test func aPageGetsNoBasicChallenge() async throws {
        for headers in [[("Page-Token", "new")], [("Page-Token", "new"), ("Authorization", "Basic eDp5")]] {
            let response = try await self.fixture.send(.get, Paths.currentSession, user: nil, headers: headers)
            #expect(response.status == .unauthorized)
            let challenges = response.fields.lines.filter { $0.name == .wwwAuthenticate }.map(\.value)
            #expect(challenges == [#"Bearer realm="sealpost""#])
        }
    }

    @Test func aSignOutDeletesTheCookie() async throws {
        let session = try await self.signIn()
        let end = try await self.fixture.send(.delete, Paths.currentSession, user: nil, headers: session.headers)
        #expect(end.status == .noContent)
        #expect(end.fields[.setCookie]?.hasPrefix("__Host-sealpost=; Max-Age=0;") == true)
        #expect(try await self.status(session.headers) == 401)
    }

    @Test func aPasswordTakesPrecedenceOverThePageSession() async throws {
        let session = try await self.signIn()
        let response = try await self.fixture.send(
            .get,
            Paths.currentSession,
            user: "alice",
            headers: session.headers
        )
        #expect(try response.json["Name"]?.text == "alice")
        #expect(try response.json["PageToken"] == .null)
    }
}
