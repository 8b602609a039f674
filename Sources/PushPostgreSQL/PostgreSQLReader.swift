internal import PostgreSQL
internal import PushCore
package import PushStore

/// Reads from the primary, through pipelined connections that all readers share.
package final class PostgreSQLReader: Sendable {
    let store: PostgreSQLStore

    init(_ store: PostgreSQLStore) {
        self.store = store
    }

    /// `nil`: each read waits for the network.
    package var immediate: (any ImmediateReader)? { nil }

    package var gathering: (any GatheringReader)? { self }

    /// Runs a statement, and decodes its rows with `body`, whose errors become `StoreError`.
    func read<Value>(
        _ sql: String,
        _ values: any Bindable...,
        as body: (Rows) throws -> Value
    ) async throws(StoreError) -> Value {
        try await self.read(sql, values: values, as: body)
    }

    /// Runs a statement whose values are in an array.
    func read<Value>(
        _ sql: String,
        values: [any Bindable],
        as body: (Rows) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try body(try await self.store.database.query(sql, values: values))
        } catch {
            throw StoreError(reading: error) ?? .failed(reason: "\(type(of: error))")
        }
    }
}
