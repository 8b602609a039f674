/// The database's clock, which all processes share, in statements.
enum DatabaseClock {
    /// Milliseconds since 1970, at the moment of the call and not of the transaction's begin.
    static let now = "(extract(epoch from clock_timestamp()) * 1000)::int8"
}
