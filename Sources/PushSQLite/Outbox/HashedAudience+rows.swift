internal import PushStore
internal import SQLite

extension HashedAudience {
    /// Whether the audience may have more than `page` devices and users.
    func isLarger(than page: Int, _ db: Database) throws -> Bool {
        if self.isOneDevice { return false }
        var sum = 0
        for branch in self.branches where sum <= page { sum += try branch.count(db, atMost: page + 1) }
        return sum > page
    }

    /// The devices of the audience in a part of the table `device`, which is called `d`.
    func devices(where range: SQL, _ db: Database) throws -> [AudienceDevice] {
        let request: SQL = """
            select d.number, d.user_id, d.lane, d.id from device d
            where \(range) and \(self.conditions.onDevice(self.audience))
            """
        return try db.all(composed: request, decode: AudienceDevice.init)
    }

    /// The users of the audience in a part of the table `user`, which is called `u`.
    func users(where range: SQL, _ db: Database) throws -> [Int64] {
        let request: SQL = """
            select u.id from user u where \(range) and \(self.conditions.onUser(self.audience))
            """
        return try db.all(composed: request) { $0.integer(0) }
    }

    private var conditions: TagConditions { TagConditions(index: self.index, policy: self.policy) }
}
