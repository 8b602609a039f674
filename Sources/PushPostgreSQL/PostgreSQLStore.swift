package import PostgreSQL
package import PushCore
package import PushStore

/// A store in a PostgreSQL database, which several processes may share.
package final class PostgreSQLStore {
    let database: ConnectionPool
    let options: StoreOptions

    init(_ database: ConnectionPool, _ options: StoreOptions) {
        self.database = database
        self.options = options
    }
}
