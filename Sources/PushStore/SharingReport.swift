package import Foundation

/// Figures about a store that several servers share, in the form for operators.
package struct SharingReport: Sendable, Hashable {
    /// The number of servers that have renewed their lease in time.
    package var servers = 0
    /// The number of this server's connections to the database.
    package var connections = 0
    /// The number of this server's statements that wait for an answer, plus the number of its
    /// transactions that wait for a connection.
    package var waiting = 0
    /// How long the oldest of these statements and transactions has waited.
    package var oldestWait = Duration.zero
    /// The number of repeated runs of transactions after a conflict, plus the number of statements
    /// that were sent again, since this server started.
    package var retries = 0
    /// The number of connections that were lost since this server started.
    package var connectionsLost = 0
    /// The number of replicas that are connected to the database; `nil` if the database does not
    /// report it.
    package var standbys: Int?
    /// The number of bytes of the log that the slowest replica has not stored yet. `nil` if there
    /// is no replica, or if the server's database role may not read this figure.
    package var standbyLag: Int64?
    /// The number of files that contain expired day keys, including files of stopped servers;
    /// `nil` if the store has no day keys.
    package var lateDayKeys: Int?
    /// The time by the clock of the database's machine; `nil` if the database is on the same
    /// machine as this server.
    package var otherClock: Date?

    package init() {}
}
