internal import Foundation

/// The client's account id. The client refuses answers for other accounts.
///
/// The id is stored with the account's other data. A lock protects it, because calls run at the
/// same time.
final class OwnAccount: Sendable {
    /// The stored account; `nil` if the identifier must not be stored, as for a session that is
    /// being signed out.
    private let account: Account?
    private let known: Locked<String?>
    /// `nil` if the client's data need no proof.
    private let credentials: PushClient.Credentials?
    /// The digest of the last token that has proved to belong to the stored account.
    private let proof = Locked<Data?>(nil)

    init(_ account: Account?, known: String?, credentials: PushClient.Credentials? = nil) {
        self.account = account
        self.known = Locked(known)
        self.credentials = credentials
        if let known { account?.bind(to: known) }
    }

    /// Whether the account was signed out since this client was created.
    var isEnded: Bool { self.account?.isEnded == true }

    /// The identifier; `nil` if it is not known yet.
    var id: String? {
        if let known = self.known.withLock({ $0 }) { return known }
        // An index that cannot be read now gives no identifier.
        guard let account, let stored = try? account.read().index.account else { return nil }
        return self.remember(stored)
    }

    /// Whether stored data belong to the account of the client's credentials, as far as the client
    /// knows without a network.
    func owns(_ index: AccountIndex) -> Bool {
        guard let credentials else { return true }
        if case .missing = credentials.kind { return false }
        if !credentials.isKnownByToken || index.account == nil || self.proof.withLock({ $0 != nil }) { return true }
        guard let digest = credentials.tokenDigest, index.tokens.contains(digest) else { return false }
        self.proof.withLock { $0 = digest }
        return true
    }

    /// Whether the stored data now belong to the account of the client's credentials.
    var ownsStored: Bool {
        if self.proof.withLock({ $0 != nil }) || self.credentials?.isKnownByToken != true { return true }
        // An index that cannot be read now shows nothing.
        guard let account, let index = try? account.read().index else { return true }
        return self.owns(index)
    }

    /// Whether the store has the data of another account with the same name.
    var isReplaced: Bool {
        // An index that cannot be read now proves nothing.
        guard let account, let stored = try? account.newest(account.files).index?.account else { return false }
        return self.known.withLock { $0 != nil && $0 != stored }
    }

    /// Remembers the account identifier of an answer to a client with a token, and that the token
    /// belongs to this account. Returns `false` if another identifier is known already.
    ///
    /// If two processes learn an identifier at the same time, both use the identifier that is
    /// stored first.
    func learn(_ id: String, from authorization: String?) -> Bool {
        guard let account, let authorization else { return self.known.withLock { $0 == nil || $0 == id } }
        let digest = PushClient.Credentials.digest(of: authorization)
        if self.proof.withLock({ $0 == digest }) { return self.known.withLock { $0 == id } }
        let stored = try? account.change { draft in
            draft.index.account = draft.index.account ?? id
            if draft.index.account == id { draft.index.add(token: digest) }
            return draft.index.account
        }
        // This client remembers the identifier even if the store cannot be written.
        let isOwn = self.remember((stored ?? nil) ?? id) == id
        if isOwn { self.proof.withLock { $0 = digest } }
        return isOwn
    }

    /// Remembers the account identifier from a sign-in. Drops the data of another account with the
    /// same name. `token` is the token of the session, if there is one.
    func begin(as id: String, token: String? = nil) throws {
        self.known.withLock { $0 = id }
        guard let account else { return }
        let digest = token.map { PushClient.Credentials.digest(of: "Bearer \($0)") }
        try PushClientError.storing { try account.begin(as: id, token: digest) }
    }

    private func remember(_ id: String) -> String {
        self.known.withLock { known in
            let first = known ?? id
            known = first
            return first
        }
    }
}
