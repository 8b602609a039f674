internal import PostgreSQL
internal import PushCore
package import PushStore

/// A reader of the store. It reads from the primary, through pipelined connections that all
/// readers share.
package final class PostgreSQLReader: SharedReader {
    let store: PostgreSQLStore

    init(_ store: PostgreSQLStore) {
        self.store = store
    }

    /// Always `nil`: each read waits for the network.
    package var immediate: (any ImmediateReader)? { nil }

    package var gathering: (any GatheringReader)? { self }

    package var sealing: Sealing { self.store.sealing }

    package func all<Entity: StoredEntity>(
        _ sql: String,
        _ values: [StoredValue]
    ) async throws(StoreError) -> [Entity] {
        let sealing = self.sealing
        return try await self.read(sql, values: values.map(\.parameter)) { rows in
            try rows.compactMap { try Entity($0, sealing) }
        }
    }

    /// Runs a statement, and decodes its rows with `body`. Errors of the statement and of `body`
    /// become `StoreError`.
    func read<Value>(
        _ sql: String,
        _ values: any Bindable...,
        as body: (Rows) throws -> Value
    ) async throws(StoreError) -> Value {
        try await self.read(sql, values: values, as: body)
    }

    /// Runs a statement with the parameters in `values`.
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

extension StoredValue {
    fileprivate var parameter: any Bindable {
        switch self {
        case .integer(let number): number
        case .text(let text): text
        case .bytes(let bytes): bytes
        }
    }
}
