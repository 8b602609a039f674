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

        /// The value of `Authorization` that names a token; `nil` without one, and before the app
        /// has provided it.
        private var token: String? {
            switch self.kind {
            case .unasked(let text): text
            case .provided(let provider): provider.last.map { "Bearer \($0)" }
            case .whenChallenged, .missing: nil
            }
        }

        /// A digest by which stored data recognise the token.
        var tokenDigest: Data? { self.token.map(Self.digest) }

        static func digest(of authorization: String) -> Data {
            Data(SHA256.hash(data: Data(authorization.utf8)).prefix(16))
        }

        /// Whether only the token says whose data the store may show: the app gives no account id,
        /// and names the data itself. An app may use one name for all of its users.
        var isKnownByToken: Bool {
            self.username == nil && self.accountID == nil && self.account.hasPrefix("user:")
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
        /// Without the id, the client shows cached data, sends tasks of the ``Outbox`` and adds
        /// tasks only if it knows that the token belongs to the stored account. It knows this of
        /// tokens from `signIn()` and ``PushClient/signInWithCode(_:)``, and of tokens that have
        /// had an answer for this account. For another token, the next call asks the server first,
        /// and throws the interference ``Interference/Kind/wrongAccount`` if the token belongs to
        /// another account. Until then the cached inbox is empty, also without a network, there is
        /// no ``PushClient/registrationID``, and ``PushClient/signOut()`` and
        /// `PushClient.registerIfNeeded` need the server.
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
        /// Before the client sends a payload with a new token, it asks the server whose token it
        /// is. For another account's token, the call throws the interference
        /// ``Interference/Kind/wrongAccount``, and the task of the ``Outbox`` waits.
        ///
        /// Pass ``Session/account`` as `id`, so that cached data are there at once after each
        /// start. Without the id, ``token(_:account:id:)`` says when the client shows them.
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
        /// and stores nothing. The cached inbox is empty, even if the store has data of an account
        /// with this name.
        public static func none(account: String) -> Credentials {
            Credentials(kind: .missing, account: "user:\(account)")
        }

        /// The reason why a request cannot have these credentials; `nil` if it can.
        /// `authorization` is the value of `Authorization`, which may have the app's latest token.
        func fault(_ authorization: String?) -> PushClientError? {
            if self.account == "user:" { return .invalidValue("account: the name is empty") }
            // The colon ends the name (RFC 7617 section 2).
            let hasColon = self.username?.utf8.contains(UInt8(ascii: ":")) == true
            if hasColon { return .invalidValue("username: it has a colon") }
            let start = "Bearer "
            guard let authorization, authorization.hasPrefix(start) else { return nil }
            let token = authorization.utf8.dropFirst(start.utf8.count)
            if !token.isEmpty, token.allSatisfy({ (0x21...0x7E).contains($0) }) { return nil }
            return .invalidValue("token: it is empty, or has a character other than visible ASCII")
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
