/// The sizes and limits of a pool.
package struct PoolOptions: Sendable {
    /// Connections for transactions.
    package var writers = 8
    /// Pipelined connections for single statements; the pool opens further ones when many
    /// statements wait on these.
    package var readers = 2
    /// The timeout for the server's answer to the oldest single statement. A statement that was
    /// sent again has twice as long in total.
    package var readLimit = Duration.milliseconds(2400)
    /// The timeout for the server's answer to a statement of a transaction.
    package var silenceLimit = Duration.milliseconds(2400)
    /// The longest wait of a transaction for a connection. After this time the pool begins no run
    /// of the transaction.
    package var writeLimit = Duration.seconds(5)
    /// The longest that the server keeps an idle transaction, and its locks: the client was
    /// paused, or its machine has failed.
    package var transactionLimit = Duration.seconds(4)
    /// How long the pool keeps an idle connection for transactions, if it is not the only one.
    package var idleLimit = Duration.seconds(60)
    /// The timeout of one attempt to connect.
    package var connectLimit = Duration.seconds(1)
    /// The most single statements in flight on one connection, and the most transactions that wait
    /// for a connection. Further ones fail with `busy`.
    package var maximumWaiting = 4096
    /// Shown in the server's list of sessions.
    package var name = "sealpost"

    package init() {}

    /// The server's limits end before the client's, so that the client learns the reason and keeps
    /// the connection.
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

/// The present state and past work of a pool.
package struct PoolCounters: Sendable, Hashable {
    /// Open connections.
    package var open = 0
    /// Statements that wait for an answer, and transactions that wait for a connection.
    package var waiting = 0
    /// The longest time that one of these statements and transactions has waited.
    package var oldestWait = Duration.zero
    /// Transactions that ran again, and statements that were sent again.
    package var retries = 0
    /// Connections that were lost.
    package var lost = 0
}
