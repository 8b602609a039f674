internal import Bytes
internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

extension PushClient {
    /// How a client signs in.
    public struct Credentials: Sendable {
        enum Kind: Sendable {
            case unasked(String)
            case whenChallenged(String)
            case provided(TokenProvider)
        }

        let kind: Kind

        /// The session of the requests: the first characters of its token, as the server's lists
        /// show them, and nothing if they show a password or another's token. `nil` if there was
        /// no request yet.
        var session: String? {
            switch self.kind {
            case .unasked(let text): Self.session(of: text)
            case .whenChallenged: ""
            case .provided(let provider): provider.last.map { Self.session(of: "Bearer \($0)") }
            }
        }

        /// Separates the kept values of one account from those of others.
        let account: String
        /// The name that is shown with the password; `nil` where there is a token.
        var username: String?
        /// The account's identifier, where the app knows it.
        var accountID: String?

        /// A name and a password with each request, unasked: one request for each call.
        public static func basic(username: String, password: String) -> Credentials {
            Credentials(
                kind: .unasked(self.basic(username, password)),
                account: "user:\(username)",
                username: username
            )
        }

        /// A name and a password once the server has asked for them; from then on unasked.
        ///
        /// Costs one request more, the first time, and shows the password only to a server whose
        /// answers pass the checks.
        public static func challenged(username: String, password: String) -> Credentials {
            Credentials(
                kind: .whenChallenged(self.basic(username, password)),
                account: "user:\(username)",
                username: username
            )
        }

        /// The token of a session, or one that an administrator made.
        ///
        /// Kept values belong to the account. Name it, or the next session begins with an empty
        /// store; a name must stand for one user only.
        ///
        /// The client takes answers for one account only. `signIn()` of the same name and store
        /// has kept its identifier; otherwise give it as `id`, from ``Session/account``. Without
        /// it the client trusts the first answer that names an account, and until then accepts
        /// signatures that cover none: a proxy with an account can use both.
        public static func token(_ token: String, account: String? = nil, id: String? = nil) -> Credentials {
            let hash = Hexadecimal.text(of: SHA256.hash(data: Data(token.utf8)))
            return Credentials(
                kind: .unasked("Bearer \(token)"),
                account: account.map { "user:\($0)" } ?? hash,
                accountID: id
            )
        }

        /// Tokens that the app fetches when one is needed: the first, and another when the server
        /// no longer takes it.
        ///
        /// The closure gets the token that was refused, or `nil`, and returns another; the call
        /// goes on with it. One call asks at a time. What it throws, the call throws; if it
        /// returns the refused token, that is ``PushClientError/unauthorized(_:)``. It runs within
        /// the call's deadline: then it is cancelled, and if it goes on all the same, the next
        /// call asks anew and does not wait for it.
        ///
        /// ```swift
        /// let credentials = PushClient.Credentials.tokens(account: "alice") { refused in
        ///     try await backend.pushToken(renewing: refused)
        /// }
        /// ```
        public static func tokens(
            account: String,
            id: String? = nil,
            _ provide: @escaping @Sendable (_ refused: String?) async throws -> String
        ) -> Credentials {
            Credentials(kind: .provided(TokenProvider(provide)), account: "user:\(account)", accountID: id)
        }

        private static func session(of authorization: String) -> String {
            let start = "Bearer spt_"
            guard authorization.hasPrefix(start) else { return "" }
            return String(authorization.dropFirst("Bearer ".count).prefix(12))
        }

        private static func basic(_ username: String, _ password: String) -> String {
            "Basic \(Base64.standard.text(of: "\(username):\(password)".utf8))"
        }
    }
}
