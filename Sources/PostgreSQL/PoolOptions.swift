/// The sizes and limits of a pool.
package struct PoolOptions: Sendable {
    /// Connections for transactions.
    package var writers = 8
    /// Pipelined connections for single statements; the second and further ones are opened when many wait on the others.
    package var readers = 2
    /// The longest that the server may leave the oldest single statement unanswered. One that was sent again has twice as long in all.
    package var readLimit = Duration.milliseconds(2400)
    /// The longest that the server may leave a statement of a transaction unanswered.
    package var silenceLimit = Duration.milliseconds(2400)
    /// The longest that a transaction waits for a connection, and after which none is run again.
    package var writeLimit = Duration.seconds(5)
    /// The longest that the server keeps a transaction, and what it has locked, whose client sends nothing: the client was
    /// stopped, or its machine is gone.
    package var transactionLimit = Duration.seconds(4)
    /// How long a connection for transactions is kept unused, if it is not the only one.
    package var idleLimit = Duration.seconds(60)
    /// The longest that one attempt to connect may take.
    package var connectLimit = Duration.seconds(1)
    /// The most single statements under way on one connection, and the most transactions that wait for one; more fail with
    /// `busy`.
    package var maximumWaiting = 4096
    /// Shown in the server's list of sessions.
    package var name = "sealpost"

    package init() {}

    /// The server gives up before its client does, which then learns the reason and keeps the connection.
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

/// What a pool does at the moment, and has done so far.
package struct PoolCounters: Sendable, Hashable {
    /// Open connections.
    package var open = 0
    /// Statements without an answer, and transactions without a connection.
    package var waiting = 0
    /// How long the oldest of them has waited.
    package var oldestWait = Duration.zero
    /// Transactions that ran again, and statements that were sent again.
    package var retries = 0
    /// Connections that were lost.
    package var lost = 0
}
