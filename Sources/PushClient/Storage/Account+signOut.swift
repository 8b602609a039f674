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

    /// The registration of the session of now, whichever client it is of.
    func currentRegistration() throws -> String? { try self.newest(self.files).index?.registration?.id }

    /// Forgets one that the server has carried out.
    func finish(_ order: SignOutOrder) throws {
        try self.changeSignOuts { $0.removeAll { $0 == order } }
    }

    /// Remembers what is left of one, or what is good for it now.
    func replace(_ order: SignOutOrder, with other: SignOutOrder) throws {
        try self.changeSignOuts { orders in
            guard let place = orders.firstIndex(of: order) else { return }
            orders[place] = other
        }
    }

    /// Adds one of a registration that no other names.
    func add(_ order: SignOutOrder) throws {
        try self.changeSignOuts { $0 = $0.suffix(Self.maximumSignOuts - 1) + [order] }
    }

    private func changeSignOuts(_ change: (inout [SignOutOrder]) -> Void) throws {
        for _ in 0..<Self.attempts {
            let (commit, index) = try self.newest(self.files)
            guard let index else { return }
            let snapshot = Snapshot(commit: commit, index: index)
            var draft = AccountDraft(upon: snapshot) { _ in nil }
            change(&draft.index.signOuts)
            if draft.index.signOuts == index.signOuts { return }
            if try self.commit(draft, upon: snapshot, self.files) { return }
        }
        throw Busy()
    }
}
