package import Foundation

/// Figures about a store that several servers share, in the form for operators.
package struct SharingReport: Sendable, Hashable {
    /// The number of servers that have renewed their lease in time.
    package let servers: Int
    /// The number of this server's connections to the database.
    package let connections: Int
    /// The number of this server's statements that wait for an answer, plus the number of its
    /// transactions that wait for a connection.
    package let waiting: Int
    /// How long the oldest of these statements and transactions has waited.
    package let oldestWait: Duration
    /// The number of repeated runs of transactions after a conflict, plus the number of statements
    /// that were sent again, since this server started.
    package let retries: Int
    /// The number of connections that were lost since this server started.
    package let connectionsLost: Int
    /// The number of replicas that are connected to the database; `nil` if the database does not
    /// report it.
    package let standbys: Int?
    /// The number of bytes of the log that the slowest replica has not stored yet. `nil` if there
    /// is no replica, or if the server's database role may not read this figure.
    package let standbyLag: Int64?
    /// The number of files that contain expired day keys, including files of stopped servers;
    /// `nil` if the store has no day keys.
    package let lateDayKeys: Int?
    /// The time by the clock of the database's machine; `nil` if the database is on the same
    /// machine as this server.
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
