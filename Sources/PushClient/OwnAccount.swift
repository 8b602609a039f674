internal import Synchronization

/// The identifier of the client's account. The client refuses answers for other accounts.
///
/// It is kept with the account. A lock, since calls run at the same time.
final class OwnAccount: Sendable {
    /// `nil`: what is learnt is not kept, as of a session that is being signed out.
    private let account: Account?
    private let known: Mutex<String?>

    init(_ account: Account?, known: String?) {
        self.account = account
        self.known = Mutex(known)
    }

    /// The identifier; `nil` if it is not known yet.
    var id: String? {
        if let known = self.known.withLock({ $0 }) { return known }
        // An index that the system cannot read now tells nothing.
        guard let account, let kept = try? account.read().index.account else { return nil }
        return self.remember(kept)
    }

    /// Takes the identifier of the first answer of a client that shows a token. Returns `false`
    /// for another than is known.
    ///
    /// Of two processes that learn it at the same time, one decides.
    func learn(_ id: String) -> Bool {
        guard let account else { return self.known.withLock { $0 == nil || $0 == id } }
        let kept = try? account.change { draft in
            draft.index.account = draft.index.account ?? id
            return draft.index.account
        }
        // This client knows it, even where the disk takes nothing.
        return self.remember((kept ?? nil) ?? id) == id
    }

    /// Takes the identifier that a sign-in has told, and drops what is kept of another account of
    /// that name, which was deleted.
    func begin(as id: String) throws {
        self.known.withLock { $0 = id }
        try self.account?.change { draft in
            if draft.index.account.map({ $0 != id }) == true { draft.dropAll() }
            draft.index.account = id
        }
    }

    private func remember(_ id: String) -> String {
        self.known.withLock { known in
            let first = known ?? id
            known = first
            return first
        }
    }
}
