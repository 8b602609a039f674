/// The client's account id. The client refuses answers for other accounts.
///
/// The id is stored with the account's other data. A lock protects it, because calls run at the
/// same time.
final class OwnAccount: Sendable {
    /// The stored account; `nil` if the identifier must not be stored, as for a session that is
    /// being signed out.
    private let account: Account?
    private let known: Locked<String?>

    init(_ account: Account?, known: String?) {
        self.account = account
        self.known = Locked(known)
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

    /// Remembers the account identifier of the first answer to a client with a token. Returns
    /// `false` if another identifier is known already.
    ///
    /// If two processes learn an identifier at the same time, both use the identifier that is
    /// stored first.
    func learn(_ id: String) -> Bool {
        guard let account else { return self.known.withLock { $0 == nil || $0 == id } }
        let stored = try? account.change { draft in
            draft.index.account = draft.index.account ?? id
            return draft.index.account
        }
        // This client remembers the identifier even if the store cannot be written.
        return self.remember((stored ?? nil) ?? id) == id
    }

    /// Remembers the account identifier from a sign-in. Drops the data of another account with the
    /// same name.
    func begin(as id: String) throws {
        self.known.withLock { $0 = id }
        guard let account else { return }
        try PushClientError.storing { try account.begin(as: id) }
    }

    private func remember(_ id: String) -> String {
        self.known.withLock { known in
            let first = known ?? id
            known = first
            return first
        }
    }
}
