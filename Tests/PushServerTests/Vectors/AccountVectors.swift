import Foundation
import HTTPTypes
import PushAPI
import SocketHTTP
import Testing

/// `accounts.json`: how a client learns its account, and which answers confirm a sign-out.
enum AccountVectors {
    private typealias Spoil = @Sendable (inout VectorExchange, VectorServer) async throws -> Void

    /// The identifier of an account that was deleted.
    private static let deleted = "AAAAAAAAAAAAAAAAAAAAAA"

    static func file() async throws -> JSONValue {
        let server = try await VectorServer()
        return .members(
            ("accounts", try await self.accounts(server)),
            ("signIns", .array(try await self.signIns(server))),
            ("signOuts", .array(try await self.signOuts()))
        )
    }

    private static func accounts(_ server: VectorServer) async throws -> JSONValue {
        var members: [VectorMember] = []
        for name in ["alice", "bob"] {
            let answer = try await server.ask(.get, "/api/sessions/current", user: name)
            members.append((name, .string(try #require(answer["Sealpost-Account"]))))
        }
        return .object(members.map { .init($0.0, $0.1) })
    }

    // MARK: - Getting to know the account

    /// An answer to a client that signs in with the name `asked`, and the client's verdict on the
    /// answer. `kind` names a kind of interference; `nil` means that the client accepts the
    /// answer.
    private struct SignIn: Sendable {
        let name: String
        let kind: String?
        var user = "alice"
        var asked = "alice"
        /// The account that the client knows before it signs in; `nil` if it knows none.
        var known: String?
        let spoil: Spoil

        init(
            _ name: String,
            _ kind: String? = nil,
            user: String = "alice",
            asked: String = "alice",
            known: String? = nil,
            spoil: @escaping Spoil = { _, _ in }
        ) {
            (self.name, self.kind, self.user, self.asked, self.known) = (name, kind, user, asked, known)
            self.spoil = spoil
        }
    }

    private static let cases = [
        SignIn("the account's own"),
        SignIn("the name in other letters", asked: "ALICE"),
        SignIn("the account was made anew", known: Self.deleted),
        SignIn("another account's", "wrongAccount", user: "bob"),
        SignIn("another account's, with a name that only looks alike", "wrongAccount", asked: "a\u{430}lice"),
        SignIn("another account's, where the own is known", "wrongAccount", user: "bob", known: Self.deleted),
        SignIn("for nobody", "wrongAccount") { answer, _ in
            answer["Sealpost-Account"] = "none"
            try answer.sign()
        },
        SignIn("the body names another account than the field", "wrongAccount") { answer, server in
            answer["Sealpost-Account"] = try await server.ask(.get, "/api/sessions/current", user: "bob")[
                "Sealpost-Account"
            ]
            try answer.sign()
        },
        SignIn("the account of the body was exchanged", "signature") { answer, _ in
            let account = answer["Sealpost-Account"] ?? ""
            answer.body = Array(
                String(decoding: answer.body, as: UTF8.self).replacing(account, with: Self.deleted).utf8
            )
        },
    ]

    private static func signIns(_ server: VectorServer) async throws -> [JSONValue] {
        var vectors: [JSONValue] = []
        for (method, path) in [(HTTPRequest.Method.post, "/api/sessions"), (.get, "/api/sessions/current")] {
            // A client sends the GET only to learn its account, so the cases with a known account
            // are only for the POST.
            for item in Self.cases where method == .post || item.known == nil {
                var exchange = try await server.ask(method, path, user: item.user)
                try self.hideToken(of: &exchange)
                let account = exchange["Sealpost-Account"]
                try await item.spoil(&exchange, server)
                vectors.append(self.json(item, exchange, account: item.kind == nil ? account : item.known))
            }
            for item in [
                SignIn("the version before has answered"),
                SignIn(
                    "the version before has answered another account",
                    method == .get ? "wrongAccount" : nil,
                    user: "bob"
                ),
            ] {
                var exchange = try await server.ask(method, path, user: item.user)
                try self.hideToken(of: &exchange)
                let names = method == .get ? ["Account"] : ["Account", "Name"]
                guard case .object(let members) = try JSONValue(reading: exchange.body) else { continue }
                let rest = JSONValue.object(members.filter { !names.contains($0.name) })
                exchange["Sealpost-Account"] = nil
                try exchange.sign(String(decoding: rest.bytes, as: UTF8.self))
                vectors.append(self.json(item, exchange, account: nil))
            }
        }
        return vectors
    }

    /// Replaces the token by a constant one, because the server makes a different token each time.
    private static func hideToken(of exchange: inout VectorExchange) throws {
        guard let token = try JSONValue(reading: exchange.body)["Token"]?.text else { return }
        let constant = "spt_" + String(repeating: "0", count: 42)
        try exchange.sign(String(decoding: exchange.body, as: UTF8.self).replacing(token, with: constant))
    }

    private static func json(_ item: SignIn, _ exchange: VectorExchange, account: String?) -> JSONValue {
        .members(
            ("name", .string(item.name)),
            ("asked", .string(item.asked)),
            ("known", .optional(item.known)),
            ("request", exchange.request),
            ("answer", exchange.answer),
            ("verdict", .string(item.kind ?? "accepted")),
            ("account", .optional(account))
        )
    }

    // MARK: - Signing out

    private static func signOuts() async throws -> [JSONValue] {
        let server = try await VectorServer()
        for id in ["one", "two"] {
            try await server.fixture.issue(id)
            _ = try await server.ask(
                .put,
                "/api/register/\(id)",
                body: #"{"Platform":"apns","Handle":"aa","Tags":[]}"#
            )
        }
        let account = try await server.ask(.get, "/api/register")["Sealpost-Account"]
        let device = "/api/register/two"
        var answers: [(String, String, VectorExchange)] = [
            ("nobody", "ended", try await server.ask(.delete, device, user: nil)),
            ("another account has no such device", "waits", try await server.ask(.delete, device, user: "bob")),
            ("the device has ended", "done", try await server.ask(.delete, device)),
            ("the device had ended before", "done", try await server.ask(.delete, device)),
            ("the device is not known", "done", try await server.ask(.delete, "/api/register/three")),
        ]
        for (name, user, outcome) in [("the session", "alice", "done"), ("another account's session", "bob", "waits")] {
            let session = try await server.fixture.send(.post, "/api/sessions", user: user)
            let token = try #require(try JSONValue(reading: session.body)["Token"]?.text)
            answers.append(
                ("\(name) has ended", outcome, try await server.ask(.delete, "/api/sessions/current", bearer: token))
            )
        }
        answers.append(("nobody's session", "ended", try await server.ask(.delete, "/api/sessions/current", user: nil)))
        var forNobody = answers[2].2
        forNobody["Sealpost-Account"] = "none"
        try forNobody.sign()
        answers.append(("a device has ended, for nobody", "waits", forNobody))
        return answers.map { name, outcome, exchange in
            .members(
                ("name", .string(name)),
                ("account", .optional(account)),
                ("request", exchange.request),
                ("answer", exchange.answer),
                ("outcome", .string(outcome))
            )
        }
    }
}
