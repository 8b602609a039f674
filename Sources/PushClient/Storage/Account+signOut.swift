extension Account {
    /// Ends this sign-in: whoever was there before keeps nothing any more, in whichever process. Throws if that cannot be
    /// written.
    ///
    /// The same commit keeps what it takes to tell the server later.
    func end(_ order: (KeptRegistration?) -> SignOutOrder) throws {
        self.adoptEarlier()
        try self.changeFiles { draft in
            var index = AccountIndex.empty(draft.index.proof, epoch: draft.index.epoch, after: draft.commit)
            index.isEnded = true
            index.history = draft.index.history
            index.signOuts = draft.index.signOuts.suffix(Self.maximumSignOuts - 1) + [order(draft.index.registration)]
            draft.index = index
        }
        self.dropOverlay()
        self.files.removeEarlier(of: self.name)
    }

    /// Far more than anybody signs out without a network.
    private static let maximumSignOuts = 16

    /// Of this account, also after its end.
    func signOuts() throws -> [SignOutOrder] { try self.newest(self.files).index?.signOuts ?? [] }

    /// Forgets one that the server has carried out.
    func finish(_ order: SignOutOrder) throws {
        for _ in 0..<Self.attempts {
            let (commit, index) = try self.newest(self.files)
            guard let index, index.signOuts.contains(order) else { return }
            let snapshot = Snapshot(commit: commit, index: index)
            var draft = AccountDraft(upon: snapshot) { _ in nil }
            draft.index.signOuts.removeAll { $0 == order }
            if try self.commit(draft, upon: snapshot, self.files) { return }
        }
        throw Busy()
    }
}
