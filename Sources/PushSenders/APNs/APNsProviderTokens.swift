internal import Cryptography
internal import Foundation
internal import PushCore
internal import Synchronization

/// The provider tokens of a process, one for each key. They stay when a reload of the
/// configuration replaces the senders.
///
/// Apple refuses a token that was renewed within twenty minutes, so a key that is loaded again
/// keeps its token.
package final class APNsProviderTokens: Sendable {
    /// The number of cached keys; one more key evicts them all.
    private static let limit = 16

    // It is a lock rather than an actor, because each use is short.
    private let tokens = Mutex<[Key: APNsProviderToken]>([:])

    private struct Key: Hashable {
        let digest: SHA256.Digest
        let keyID: String
        let teamID: String
    }

    package init() {}

    /// The provider token of a key. Throws if `key` is not a P-256 key, or if an identifier is not
    /// ten letters and digits.
    func token(key: Secret<String>, keyID: String, teamID: String) throws(SenderSettingsError) -> APNsProviderToken {
        try self.tokens.withLock { tokens throws(SenderSettingsError) in
            let name = Key(digest: SHA256.hash(data: Data(key.exposed.utf8)), keyID: keyID, teamID: teamID)
            if let known = tokens[name] { return known }
            let token = try APNsProviderToken(key: key, keyID: keyID, teamID: teamID)
            if tokens.count >= Self.limit { tokens.removeAll() }
            tokens[name] = token
            return token
        }
    }
}
