extension Account {
    /// Whether the account was signed out since this client was created.
    var isEnded: Bool {
        do {
            _ = try self.read()
            return false
        } catch {
            // An unreadable index does not prove a sign-out.
            return error as? PushClientError == .signedOut
        }
    }

    /// Ends this sign-in for all clients of the account, in all processes. Returns the sign-out
    /// order if the store could not write it.
    ///
    /// One commit ends the account and stores the order, which the client later carries out at the
    /// server. On a full disk the client first removes the files: a removal needs no free space,
    /// and frees some. After a crash at any point, either the whole account is there or nothing of
    /// it.
    @discardableResult
    func end(_ order: (StoredRegistration?) -> SignOutOrder) throws -> SignOutOrder? {
        self.adoptEarlier()
        defer {
            self.dropOverlay()
            self.files.removeEarlier(of: self.name)
        }
        do {
            try self.changeFiles { $0.end(order, atMost: Self.maximumSignOuts) }
            self.markEnded()
            return nil
        } catch PushClientError.signedOut {
            throw PushClientError.signedOut
        } catch {
            return self.endWithoutRoom(order)
        }
    }

    private func endWithoutRoom(_ order: (StoredRegistration?) -> SignOutOrder) -> SignOutOrder? {
        // An index that cannot be read now counts as empty, so that its account ends, too.
        let snapshot =
            (try? self.read(self.files)) ?? Snapshot(commit: 0, index: .empty(self.proof, epoch: self.epoch, after: 0))
        var draft = AccountDraft(basedOn: snapshot) { _ in nil }
        draft.end(order, atMost: Self.maximumSignOuts)
        self.files.removeAll(of: self.folder)
        // The client is signed out even if the index cannot be written.
        self.markEnded()
        do {
            if try self.files.createIndex(draft.index.bytes(draft.commit), draft.commit, in: self.folder) { return nil }
        } catch {
            // The store accepts no writes, so the caller gets the order.
        }
        return draft.index.signOuts.last
    }

    /// The maximum number of stored sign-out orders: nobody signs out so often without a network.
    private static let maximumSignOuts = 16

    /// This account's sign-outs that the server does not know yet. They stay after the account has
    /// ended.
    func signOuts() throws -> [SignOutOrder] { try self.newest(self.files).index?.signOuts ?? [] }

    /// The registration id of the current session, no matter which client registered it.
    func currentRegistration() throws -> String? { try self.newest(self.files).index?.registration?.id }

    /// Removes a sign-out order that the server has carried out.
    func finish(_ order: SignOutOrder) throws {
        try self.changeSignOuts { $0.removeAll { $0 == order } }
    }

    /// Replaces a sign-out order by one with another token or without a token.
    func replace(_ order: SignOutOrder, with other: SignOutOrder) throws {
        try self.changeSignOuts { orders in
            guard let place = orders.firstIndex(of: order) else { return }
            orders[place] = other
        }
    }

    /// Adds a sign-out order for a registration that no other order names.
    func add(_ order: SignOutOrder) throws {
        try self.changeSignOuts { $0 = $0.suffix(Self.maximumSignOuts - 1) + [order] }
    }

    private func changeSignOuts(_ change: (inout [SignOutOrder]) -> Void) throws {
        for _ in 0..<Self.attempts {
            let (commit, index) = try self.newest(self.files)
            guard let index else { return }
            let snapshot = Snapshot(commit: commit, index: index)
            var draft = AccountDraft(basedOn: snapshot) { _ in nil }
            change(&draft.index.signOuts)
            if draft.index.signOuts == index.signOuts { return }
            if try self.commit(draft, basedOn: snapshot, self.files) { return }
        }
        throw Busy()
    }
}
