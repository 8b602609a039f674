internal import Bytes
internal import Foundation
internal import PushAPI

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
            /// Nobody is signed in.
            case missing
        }

        let kind: Kind

        /// Identifies the session of the requests: the first characters of its token, which the
        /// server's lists of sessions also show. Empty for a password, and for a token that
        /// belongs to no session; `nil` before the app has provided a token.
        var session: String? {
            switch self.kind {
            case .unasked(let text): Self.session(of: text)
            case .whenChallenged: ""
            case .provided(let provider): provider.last.map { Self.session(of: "Bearer \($0)") }
            case .missing: nil
            }
        }

        /// The name under which the client caches the account's values, separately from other
        /// accounts' values.
        let account: String
        /// The user name that belongs to the password; `nil` with a token.
        var username: String?
        /// The account id, if the app knows it.
        var accountID: String?

        /// Sends name and password with each request, without waiting for a challenge.
        public static func basic(username: String, password: String) -> Credentials {
            Credentials(
                kind: .unasked(self.basic(username, password)),
                account: "user:\(username)",
                username: username
            )
        }

        /// Sends name and password only after the server has asked for them. From then on, each
        /// request has them from the start.
        ///
        /// This costs one more request the first time, and shows the password only to a server
        /// whose answers pass the checks.
        public static func challenged(username: String, password: String) -> Credentials {
            Credentials(
                kind: .whenChallenged(self.basic(username, password)),
                account: "user:\(username)",
                username: username
            )
        }

        /// Sends the token of a session, or a token that an administrator made.
        ///
        /// The client caches values under the name in `account`, which must belong to one user
        /// only. Without a name the client caches them under the token's hash, so the next session
        /// begins without cached values.
        ///
        /// The client accepts answers for one account only. After `signIn()` with the same name
        /// and store, the client knows the account id; otherwise pass ``Session/account`` as `id`.
        /// Without the id, the client trusts the first answer that names an account, and before
        /// this answer it accepts signatures that cover no account. A proxy that has an account at
        /// the server can exploit both: it can make the client accept answers for that account.
        ///
        /// If the store has another account's data under the same name, a client with an `id`
        /// drops them when it is created. The other account's clients then throw
        /// ``PushClientError/signedOut``.
        public static func token(_ token: String, account: String? = nil, id: String? = nil) -> Credentials {
            let hash = Hexadecimal.text(of: SHA256.hash(data: Data(token.utf8)))
            return Credentials(
                kind: .unasked("Bearer \(token)"),
                account: account.map { "user:\($0)" } ?? hash,
                accountID: id
            )
        }

        /// Sends tokens that the app's closure fetches when they are needed: first one token, and
        /// a new token whenever the server refuses the last one.
        ///
        /// The closure gets the refused token, or `nil` for the first token, and returns a new
        /// token, with which the call continues. Only one call runs the closure at a time; other
        /// calls wait for its token. The call throws the closure's errors, a `URLError` as
        /// ``PushClientError/offline(_:)``. If the closure returns the refused token, the call
        /// throws ``PushClientError/unauthorized(_:)``. At the call's deadline the client cancels
        /// the closure. If the closure does not end, the next call starts the closure again,
        /// without waiting for the earlier run.
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

        /// For ``PushClient/signInWithCode(_:)``, which needs no credentials. Other calls of the
        /// server throw ``PushClientError/signedOut``, and send nothing; so does the ``Outbox``,
        /// and stores nothing.
        public static func none(account: String) -> Credentials {
            Credentials(kind: .missing, account: "user:\(account)")
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
