extension BlockingConnection {
    /// How often to test whether the pooler shares sessions. A single test can miss it if other
    /// clients keep the pooler busy, or if the pooler uses its sessions in turn.
    private static let rounds = 4

    /// Throws `DatabaseError.unusable` if a pooler may give a client's next transaction to another
    /// session. The client would then lose its settings, its prepared statements and `listen`, or
    /// impose them on other clients.
    ///
    /// Opens a second connection if there is a pooler.
    func refuseSharedSession(_ address: DatabaseAddress, hosts: [DatabaseHost]) throws(DatabaseError) {
        if self.session.isUsed { throw .unusable(reason: GivenSession.sharedReason) }
        guard self.session.isPooled else { return }
        let other = try BlockingConnection(address, hosts: hosts)
        guard try self.sharesSession(with: other) else { return }
        // Resets the settings of both sessions, so that other clients do not get them. The error
        // below is thrown even if this fails.
        for connection in [self, other] { try? connection.execute("reset all") }
        throw .unusable(reason: GivenSession.sharedReason)
    }

    // MARK: - Private

    private func sharesSession(with other: BlockingConnection) throws(DatabaseError) -> Bool {
        if other.session.isUsed || other.session.process == self.session.process { return true }
        for _ in 0..<Self.rounds {
            // A pooler that shares sessions now gives this connection the session that it got back
            // last: the session of the other connection.
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
