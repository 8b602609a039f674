extension ServerMembership {
    static let firstEpoch = "insert into epoch (id, newest, trimmed) values (1, 0, 0) on conflict (id) do nothing"

    /// Inserts the row of a server that joins, and assigns its number. The parameters are its
    /// name, its release, the newest migration that it knows, its encrypting key, the keys that it
    /// has, and the check value of the encrypting key. The statement marks that key as in use.
    ///
    /// Returns no row while another server is joining or changing its keys, or while the schema is
    /// being changed. Also returns no row if the database has meanwhile got a migration that the
    /// server must know but does not know.
    static let insertServer = """
        with l as (select id from schema_state where id = 1 for update skip locked),
        k as (
            insert into data_key (number, check_value, used_at) select $4, $6, \(DatabaseClock.now) from l
            on conflict (number) do nothing)
        insert into node (name, release, schema, started_at, until, sealing, seen_epoch, keys)
        select $1, $2, $3, \(DatabaseClock.now), \(DatabaseClock.now) + \(leaseDuration), $4, e.newest, $5
        from l cross join epoch e
        where e.id = 1 and not exists (select 1 from migration where name > $3 and oldest_known > $3)
        returning number, seen_epoch
        """

    /// Deletes the rows of servers that were fenced more than a day ago: other servers have taken
    /// over their pushes. A number without a row counts as fenced, too.
    static let deleteFenced = "delete from node where is_fenced and until < \(DatabaseClock.now) - 86400000"

    static let renewLease = """
        update node set until = \(DatabaseClock.now) + \(leaseDuration) where number = $1 and not is_fenced
        """

    /// Fences a server that ends, and stores the time of its end as that of a last renewal. The
    /// server trusts no cached credentials any more. So it confirms all ends of credentials, and
    /// no other server waits for it.
    static let expireServer = """
        update node set is_fenced = true, until = \(DatabaseClock.now) + \(leaseDuration), seen_epoch = \(Int64.max)
        where number = $1
        """

    /// Deletes the row of a server, or of a command, that operators need not see any more.
    static let deleteServer = "delete from node where number = $1"

    /// Fences the servers whose leases have expired, except the server with the number `$1`.
    static let fenceLate = """
        update node set is_fenced = true where not is_fenced and number <> $1 and until < \(DatabaseClock.now)
        """

    // MARK: Ended credentials

    /// The maximum number of ended credentials that a server reads. If more have ended, the server
    /// evicts its whole cache.
    static let maximumEnds = 4096

    /// Selects the credentials that have ended since the number `$1`. Returns at least one row.
    static let endsSince = """
        select e.newest, e.trimmed, a.epoch, a.user_id, a.token
        from epoch e left join account_end a on a.epoch > $1 and a.epoch <= e.newest
        where e.id = 1 order by a.epoch limit \(maximumEnds + 1)
        """

    static let confirmEnds = "update node set seen_epoch = $2 where number = $1 and not is_fenced"

    /// Selects one server that has not confirmed the number `$1`, and whose lease has not expired.
    /// This includes a fenced server: it notices the fencing only at its next renewal.
    static let unconfirmed = "select number from node where seen_epoch < $1 and until > \(DatabaseClock.now) limit 1"

    /// Fences the servers that renew their leases but have not confirmed the number `$1`.
    static let fenceUnconfirmed = """
        update node set is_fenced = true where not is_fenced and seen_epoch < $1 and until > \(DatabaseClock.now)
        """

    /// Deletes ended credentials after an hour. A server that has not read them by then has long
    /// lost its lease.
    static let trimEnds = """
        with gone as (delete from account_end where at < \(DatabaseClock.now) - 3600000 returning epoch)
        update epoch set trimmed = greatest(trimmed, (select max(epoch) from gone))
        where id = 1 and exists (select 1 from gone)
        """
}
