/// The sizes and limits of a connection pool.
package struct PoolOptions: Sendable {
    /// The maximum number of connections for transactions.
    package var writers = 8
    /// The maximum number of pipelined connections for single statements. The second and later
    /// connections are opened when many statements wait on the first.
    package var readers = 2
    /// The timeout for the server's answer to the oldest single statement. If the statement was
    /// sent again, the time is twice as long in total.
    package var readLimit = Duration.milliseconds(2400)
    /// The timeout for the server's answer to a statement of a transaction.
    package var silenceLimit = Duration.milliseconds(2400)
    /// The maximum time that a transaction waits for a connection. After this time the pool begins
    /// no run of the transaction.
    package var writeLimit = Duration.seconds(5)
    /// The maximum time that the server keeps an idle transaction with its locks. A transaction is
    /// idle if the client was paused or its machine has failed.
    package var transactionLimit = Duration.seconds(4)
    /// How long the pool keeps an idle connection for transactions. It always keeps one of them.
    package var idleLimit = Duration.seconds(60)
    /// The timeout of one attempt to connect.
    package var connectLimit = Duration.seconds(1)
    /// The maximum number of single statements in flight on one connection, and of transactions
    /// that wait for a connection. Further statements and transactions fail with `busy`.
    package var maximumWaiting = 4096
    /// The name that the server's `pg_stat_activity` shows for the pool's sessions.
    package var name = "sealpost"

    package init() {}

    /// The server's limits are shorter than the client's. So after a timeout, the client gets the
    /// reason from the server, and keeps the connection.
    var readerSettings: SessionSettings {
        SessionSettings(name: self.name, statementLimit: self.readLimit * 4 / 5, lockLimit: self.readLimit * 3 / 5)
    }

    var writerSettings: SessionSettings {
        SessionSettings(
            name: self.name,
            statementLimit: self.silenceLimit * 4 / 5,
            lockLimit: self.silenceLimit * 3 / 5,
            idleLimit: self.transactionLimit
        )
    }
}

/// Numbers that describe a pool's present state and past work.
package struct PoolCounters: Sendable, Hashable {
    /// The number of open connections.
    package var open = 0
    /// The number of statements that wait for an answer, plus the number of transactions that wait
    /// for a connection.
    package var waiting = 0
    /// How long the oldest waiting statement or transaction has waited.
    package var oldestWait = Duration.zero
    /// The number of repeated runs of transactions, plus the number of statements that were sent
    /// again.
    package var retries = 0
    /// The number of connections that were lost.
    package var lost = 0
}
