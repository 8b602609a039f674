internal import GRDB
package import PushCore

extension Reader {
    /// The hash of some user, the same for the same number as long as that user stays as it is; `nil` without users.
    ///
    /// So what the hashes of all numbers cost is what those of all users cost, in the same proportions. When a user
    /// comes, its own share of the numbers changes hands, and no other.
    package func password(chosenBy number: UInt64) throws(StoreError) -> PasswordHash? {
        try self.read { db in
            let last = try Int64.fetchOne(try db.cachedStatement(sql: "select max(id) from user")) ?? 0
            let statement = try db.cachedStatement(sql: "select password from user where id >= ? order by id limit 1")
            return try String.fetchOne(statement, arguments: [number.bucket(of: last) + 1]).map(PasswordHash.init(phc:))
        }
    }
}

extension Store {
    /// Stores the same password hashed anew, and ends nothing; does nothing if `old` is no longer the stored hash.
    package func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws {
        try await self.writer.write { [writer] db in
            try db.execute(
                sql: "update user set password = ? where id = ? and password = ?",
                arguments: [new.phc, user.id, old.phc]
            )
            writer.noteErasure()
        }
    }

    /// Gives a user who has shown the old password another one, and ends the user's sessions; `false` if it was changed,
    /// or the user deleted, meanwhile.
    package func changePassword(
        of user: User,
        to password: PasswordHash,
        by record: AuditRecord? = nil
    ) async throws -> Bool {
        try await self.write(by: record) { [writer] db in
            writer.noteErasure()
            try db.execute(
                sql: """
                    update user set password = ?, password_number = password_number + 1
                    where id = ? and password_number = ?
                    """,
                arguments: [password.phc, user.id, user.passwordNumber]
            )
            return db.changesCount == 1
        }
    }
}

extension UInt64 {
    /// Which of `count` buckets, 0 or more, this key falls into; of one more bucket only that one takes keys away.
    ///
    /// Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014.
    func bucket(of count: Int64) -> Int64 {
        var (key, bucket, next) = (self, Int64(0), 0.0)
        while next < Double(count) {
            bucket = Int64(next)
            key = key &* 2_862_933_555_777_941_757 &+ 1
            next = (Double(bucket) + 1) * (0x1p31 / (Double(key >> 33) + 1))
        }
        return bucket
    }
}
