internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A store in a PostgreSQL database, which several processes may share.
package final class PostgreSQLStore: Sendable {
    let database: ConnectionPool
    let options: StoreOptions
    let leases = LeaseBook()
    let marks = ClaimMarks()

    init(_ database: ConnectionPool, _ options: StoreOptions) {
        self.database = database
        self.options = options
    }
}
