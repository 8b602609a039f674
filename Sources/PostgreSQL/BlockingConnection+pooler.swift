extension BlockingConnection {
    /// The number of runs of the test for shared sessions. A single run can miss a pooler that
    /// shares sessions, if other clients keep it busy, or if it uses its sessions round-robin.
    private static let rounds = 4

    /// Throws `DatabaseError.unusable` if a pooler may run a client's next transaction in another
    /// session. The client would then lose its settings, its prepared statements and its `listen`,
    /// or these would affect other clients.
    ///
    /// If there is a pooler, opens a second connection for this test.
    func refuseSharedSession(_ address: DatabaseAddress, hosts: [DatabaseHost]) throws(DatabaseError) {
        if self.session.isUsed { throw .unusable(reason: GivenSession.sharedReason) }
        guard self.session.isPooled else { return }
        let other = try BlockingConnection(address, hosts: hosts)
        guard try self.sharesSession(with: other) else { return }
        // Resets the settings of both sessions, so that they do not affect other clients. The
        // error below is thrown even if the reset fails.
        for connection in [self, other] { try? connection.execute("reset all") }
        throw .unusable(reason: GivenSession.sharedReason)
    }

    // MARK: - Private

    private func sharesSession(with other: BlockingConnection) throws(DatabaseError) -> Bool {
        if other.session.isUsed || other.session.process == self.session.process { return true }
        for _ in 0..<Self.rounds {
            // A pooler that shares sessions gives this transaction the session that a client
            // returned last: the session of `other`.
            try self.execute("begin")
            let hasMoved = try self.hasMoved()
            let otherHasMoved = try other.hasMoved()
            try self.execute("rollback")
            if hasMoved || otherHasMoved { return true }
        }
        return false
    }

    private func hasMoved() throws(DatabaseError) -> Bool {
        try self.query("select pg_backend_pid()::text")[0].text(0) != self.session.process
    }
}
