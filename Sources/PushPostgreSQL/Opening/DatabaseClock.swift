/// SQL for the database's clock, which all servers share.
enum DatabaseClock {
    /// Milliseconds since 1970, at the time of the call, not of the transaction's start.
    static let now = "(extract(epoch from clock_timestamp()) * 1000)::int8"
}
