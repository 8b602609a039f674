/// The settings of a connection's session in the server.
struct SessionSettings: Sendable {
    /// The name that the server's `pg_stat_activity` shows for this session.
    var name = "sealpost"
    /// The maximum time that the server works on one statement; `nil`: unlimited.
    var statementLimit: Duration?
    /// The maximum time that a statement waits for a lock; `nil`: unlimited.
    var lockLimit: Duration?
    /// The maximum time that a transaction may be idle; `nil`: unlimited.
    var idleLimit: Duration?

    /// The SQL that sets these limits, and some fixed settings. It overrides the settings of the
    /// role, the database or a pooler.
    ///
    /// The connection parameter `options` cannot do this in all cases, since a pooler such as
    /// PgBouncer refuses or ignores it.
    var assignments: String {
        let limits = [
            ("statement_timeout", self.statementLimit), ("lock_timeout", self.lockLimit),
            ("idle_in_transaction_session_timeout", self.idleLimit),
        ]
        return (Self.fixed + limits.map { ($0, $1.map { "\(max(1, $0.milliseconds))" } ?? "0") })
            .map { "set_config('\($0)', '\($1)', false)" }.joined(separator: ", ")
    }

    private static let fixed = [
        // The statements assume the isolation level read committed, so it must not depend on the
        // database's default. Warnings must arrive: only a warning shows that no replica has
        // stored a commit.
        ("default_transaction_isolation", "read committed"), ("client_min_messages", "warning"),
        // Each statement uses an index, and has one permanent plan. A plan that is made while
        // tables are small must not scan them whole after they have grown. A plan for each
        // execution would cost more than most statements themselves. With `enable_seqscan=off` the
        // planner counts a scan that it cannot avoid as very expensive. Without the last two
        // settings, the server would compile such a scan, or start two processes for it.
        ("enable_seqscan", "off"), ("plan_cache_mode", "force_generic_plan"), ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        // With these keepalives, the server notices that a client's machine has failed, and ends
        // that client's session.
        ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
    ]
}

extension Duration {
    var milliseconds: Int64 { self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000 }
}

extension DatabaseAddress {
    /// A path at which no file can exist, so that libpq reads no file in the user's home folder.
    private static let noFile = "/dev/null/none"

    /// The parameters that `PQconnectStartParams` needs to connect to `hosts`. `addresses` has the
    /// numeric addresses of these hosts; it is empty if libpq may resolve their names.
    ///
    /// Sets every parameter that an environment variable could change. The `SessionSettings` are
    /// not among them: the first statement of the session sets them.
    func parameters(
        hosts: [DatabaseHost],
        addresses: [String] = [],
        name: String
    ) -> [(name: String, value: String)] {
        var parameters = [
            ("host", hosts.map(\.name).joined(separator: ",")),
            ("port", hosts.map { "\($0.port)" }.joined(separator: ",")),
            ("dbname", self.database),
            ("target_session_attrs", "read-write"),
            ("application_name", name),
            ("client_encoding", "UTF8"),
            ("gssencmode", "disable"),
            ("passfile", Self.noFile),
            ("sslmode", self.protection.rawValue),
            ("sslrootcert", self.rootCertificate ?? Self.noFile),
            ("sslcert", self.certificate ?? Self.noFile),
            ("sslkey", self.key ?? Self.noFile),
            ("sslcrl", Self.noFile),
            ("ssl_min_protocol_version", "TLSv1.2"),
            ("keepalives_idle", "10"),
            ("keepalives_interval", "5"),
            ("keepalives_count", "3"),
        ]
        if !addresses.isEmpty { parameters.append(("hostaddr", addresses.joined(separator: ","))) }
        if let user { parameters.append(("user", user)) }
        if let password { parameters.append(("password", password)) }
        return parameters.map { (name: $0.0, value: $0.1) }
    }
}
