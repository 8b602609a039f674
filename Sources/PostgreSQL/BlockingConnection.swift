internal import CPostgreSQL

/// A blocking connection to the database, for commands and for the start of a server. Only one
/// thread may use it.
package final class BlockingConnection {
    private let connection: OpaquePointer
    private let identity: ClusterIdentity
    let session: GivenSession

    /// Tries the hosts one after the other. Throws `DatabaseError.unavailable` if no server
    /// accepts writes, or if a server may lose confirmed commits in a crash. Throws `unusable` if
    /// a pooler shares sessions between clients.
    ///
    /// Statements on this connection have no time limit.
    package convenience init(_ address: DatabaseAddress) throws(DatabaseError) {
        try self.init(address, hosts: address.hosts)
        try self.refuseSharedSession(address, hosts: address.hosts)
    }

    /// Connects to one of the hosts. Does not check whether a pooler shares sessions.
    init(_ address: DatabaseAddress, hosts: [DatabaseHost]) throws(DatabaseError) {
        let settings = SessionSettings()
        var parameters = address.parameters(hosts: hosts, name: settings.name)
        // This timeout applies to each address of each host.
        parameters.append((name: "connect_timeout", value: "3"))
        let connection = withCStrings(parameters.map(\.name)) { names in
            withCStrings(parameters.map(\.value)) { PQconnectdbParams(names, $0, 0) }
        }
        guard let connection else { throw .unavailable(reason: "out of memory") }
        guard PQstatus(connection) == CONNECTION_OK else {
            let reasons = String(cString: PQerrorMessage(connection)).split(separator: "\n")
                // In libpq's message, a line that begins with a tab explains the line before it.
                .filter { !$0.hasPrefix("\t") }
            PQfinish(connection)
            throw .unavailable(reason: reasons.joined(separator: "; "))
        }
        // By default, libpq writes notices to standard error.
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
        guard let result = PQexec(connection, ClusterIdentity.query(settings)) else {
            PQfinish(connection)
            throw .unavailable(reason: "out of memory")
        }
        defer { PQclear(result) }
        do throws(ConnectFailure) {
            self.identity = try ClusterIdentity(result)
            self.session = GivenSession(result, of: connection)
        } catch {
            PQfinish(connection)
            throw .unavailable(reason: error.reason)
        }
        self.connection = connection
    }

    deinit {
        PQfinish(self.connection)
    }

    /// Opens a connection to the first host that accepts writes and whose database is not older
    /// than `newest`. Also returns the identity of its server.
    ///
    /// If no host is suitable, throws the `ClusterFault` of a refused host. If no host was
    /// refused, throws `DatabaseError.unavailable`. Throws `unusable` if a pooler shares sessions,
    /// even if another host is suitable: a pool would use all hosts.
    package static func open(
        _ address: DatabaseAddress,
        after newest: ClusterIdentity?
    ) throws -> (connection: BlockingConnection, identity: ClusterIdentity) {
        var fault: ClusterFault?
        var reasons: [String] = []
        for host in address.hosts {
            do throws(DatabaseError) {
                let connection = try BlockingConnection(address, hosts: [host])
                try connection.refuseSharedSession(address, hosts: [host])
                guard case .refused(let kind) = ClusterGuard.verdict(of: connection.identity, after: newest) else {
                    return (connection, connection.identity)
                }
                fault = ClusterFault(server: "\(host)", kind: kind)
            } catch .unavailable(let reason) {
                reasons.append(reason)
            }
        }
        if let fault { throw fault }
        throw DatabaseError.unavailable(reason: reasons.joined(separator: "; "))
    }

    package func query(_ sql: String, _ values: any Bindable...) throws(DatabaseError) -> Rows {
        try self.query(sql, values: values)
    }

    /// Runs a statement with the parameters in `values`.
    package func query(_ sql: String, values: [any Bindable]) throws(DatabaseError) -> Rows {
        let statement = try Statement(sql, values: values)
        let result = statement.withParameters { count, values, lengths, formats in
            PQexecParams(self.connection, sql, count, statement.key.types, values, lengths, formats, 1)
        }
        return try self.rows(result)
    }

    /// Runs several statements without parameters, such as a migration. They run in one
    /// transaction, unless the script itself begins transactions.
    package func execute(_ script: String) throws(DatabaseError) {
        _ = try self.rows(PQexec(self.connection, script))
    }

    /// Runs `body` between `begin` and `commit`.
    ///
    /// Throws `unknownOutcome` if the commit was sent but not confirmed.
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try self.execute("begin")
        let value: Value
        do {
            value = try body()
        } catch {
            // If the connection is lost, the rollback fails, but the server then rolls the
            // transaction back itself.
            try? self.execute("rollback")
            throw error
        }
        do throws(DatabaseError) {
            guard try self.rows(PQexec(self.connection, "commit")).command == "COMMIT" else {
                throw .refused(code: "25P02", message: "the transaction had failed before")
            }
        } catch .unavailable(let reason) {
            throw DatabaseError.unknownOutcome(reason: reason)
        }
        return value
    }

    private func rows(_ result: OpaquePointer?) throws(DatabaseError) -> Rows {
        guard let result else { throw .unavailable(reason: ServerReport.firstLine(PQerrorMessage(self.connection))) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return Rows(result)
        default:
            let report = ServerReport(result)
            PQclear(result)
            throw PQstatus(self.connection) == CONNECTION_OK ? report.error : .unavailable(reason: report.message)
        }
    }
}
