package import Foundation

/// Figures of a store that several servers share over a network, for operators.
package struct SharingReport: Sendable, Hashable {
    /// The number of servers that have renewed their lease in time.
    package let servers: Int
    /// The number of this server's connections to the database.
    package let connections: Int
    /// The number of this server's statements that wait for an answer, and of its transactions
    /// that wait for a connection.
    package let waiting: Int
    /// How long the oldest of these statements and transactions has waited.
    package let oldestWait: Duration
    /// The number of transactions that ran again after a conflict, and of statements that were
    /// sent again, since the start.
    package let retries: Int
    /// The number of connections that were lost since the start.
    package let connectionsLost: Int
    /// The number of the database's connected replicas; `nil` if the engine does not report it.
    package let standbys: Int?
    /// How many bytes of the log the slowest replica has not stored; `nil` without a replica, or
    /// if the server's database role may not read this figure.
    package let standbyLag: Int64?
    /// The number of files that hold day keys past their time, also those of stopped servers;
    /// `nil` if the store has no day keys.
    package let lateDayKeys: Int?
    /// The time by the clock of the database's machine; `nil` if the database is on this machine.
    package let otherClock: Date?

    package init(
        servers: Int,
        connections: Int,
        waiting: Int,
        oldestWait: Duration,
        retries: Int,
        connectionsLost: Int,
        standbys: Int?,
        standbyLag: Int64?,
        lateDayKeys: Int?,
        otherClock: Date?
    ) {
        (self.servers, self.connections, self.waiting) = (servers, connections, waiting)
        (self.oldestWait, self.retries, self.connectionsLost) = (oldestWait, retries, connectionsLost)
        (self.standbys, self.standbyLag) = (standbys, standbyLag)
        (self.lateDayKeys, self.otherClock) = (lateDayKeys, otherClock)
    }
}
