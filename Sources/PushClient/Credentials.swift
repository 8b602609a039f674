internal import Bytes
internal import Crypto
internal import Foundation

extension PushClient {
    /// How a client signs in.
    public struct Credentials: Sendable {
        enum Kind: Sendable {
            case unasked(String)
            case whenChallenged(String)
        }

        let kind: Kind
        /// Separates the kept values of one account from those of others.
        let account: String

        /// A name and a password with each request, unasked: one request for each call.
        public static func basic(username: String, password: String) -> Credentials {
            Credentials(kind: .unasked(self.basic(username, password)), account: "user:\(username)")
        }

        /// A name and a password once the server has asked for them; from then on unasked.
        ///
        /// Costs one request more, the first time, and shows the password only to a server whose answers pass the checks.
        public static func challenged(username: String, password: String) -> Credentials {
            Credentials(kind: .whenChallenged(self.basic(username, password)), account: "user:\(username)")
        }

        /// The token of a session, or one that an administrator made.
        ///
        /// Kept values belong to the account. Name it, or the next session begins with an empty store; a name must
        /// stand for one user only.
        public static func token(_ token: String, account: String? = nil) -> Credentials {
            let hash = Hexadecimal.text(of: SHA256.hash(data: Data(token.utf8)))
            return Credentials(kind: .unasked("Bearer \(token)"), account: account.map { "user:\($0)" } ?? hash)
        }

        private static func basic(_ username: String, _ password: String) -> String {
            "Basic \(Base64.standard.text(of: "\(username):\(password)".utf8))"
        }
    }
}
