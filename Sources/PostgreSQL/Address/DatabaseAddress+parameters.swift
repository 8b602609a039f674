/// The settings of a connection's session in the server.
struct SessionSettings: Sendable {
    /// Shown in the server's `pg_stat_activity`.
    var name = "sealpost"
    /// The longest that the server works on one statement; `nil`: without limit.
    var statementLimit: Duration?
    /// The longest that a statement waits for a lock; `nil`: without limit.
    var lockLimit: Duration?
    /// The longest that a transaction may be idle; `nil`: without limit.
    var idleLimit: Duration?

    /// The SQL that sets these values, whatever values the role, the database or a pooler has.
    ///
    /// The connection's parameter `options` does not always set them, since a pooler such as
    /// PgBouncer refuses or ignores this parameter.
    var assignments: String {
        let limits = [
            ("statement_timeout", self.statementLimit), ("lock_timeout", self.lockLimit),
            ("idle_in_transaction_session_timeout", self.idleLimit),
        ]
        return (Self.fixed + limits.map { ($0, $1.map { "\(max(1, $0.milliseconds))" } ?? "0") })
            .map { "set_config('\($0)', '\($1)', false)" }.joined(separator: ", ")
    }

    private static let fixed = [
        // The isolation is read committed, whatever the database's default is: the statements
        // assume it. Warnings must arrive: a warning is the only sign that no replica has a
        // commit.
        ("default_transaction_isolation", "read committed"), ("client_min_messages", "warning"),
        // Each statement uses an index, and has one permanent plan. A plan made while tables are
        // small must not scan them whole when they have grown. Planning costs more than most
        // statements do.
        ("enable_seqscan", "off"), ("plan_cache_mode", "force_generic_plan"), ("jit", "off"),
        // With these keepalives, the server detects a client whose machine has failed, and ends
        // its session.
        ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
    ]
}

extension Duration {
    var milliseconds: Int64 { self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000 }
}

extension DatabaseAddress {
    /// The path of a file that cannot exist: libpq then reads no file in the user's home.
    private static let noFile = "/dev/null/none"

    /// The parameters for `PQconnectStartParams` to connect to some of the hosts. `addresses` are
    /// the hosts' numeric addresses; empty if libpq may resolve the names.
    ///
    /// Sets every parameter that an environment variable could change. The `SessionSettings` are
    /// not among the parameters: the first statement of the session sets them.
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
