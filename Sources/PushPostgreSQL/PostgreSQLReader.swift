internal import PostgreSQL
internal import PushCore
package import PushStore

/// A reader of the store. It reads from the primary, through pipelined connections that all
/// readers share.
package final class PostgreSQLReader: SharedReader {
    let store: PostgreSQLStore

    init(_ store: PostgreSQLStore) { self.store = store }

    /// Always `nil`: each read waits for the network.
    package var immediate: (any ImmediateReader)? { nil }

    package var gathering: (any GatheringReader)? { self }

    package var sealing: Sealing { self.store.sealing }

    package func all<Entity: StoredEntity>(
        _ sql: String,
        _ values: [StoredValue]
    ) async throws(StoreError) -> [Entity] {
        let sealing = self.sealing
        return try await self.store.read(sql, values: values.map(\.parameter)) { rows in
            try rows.compactMap { try Entity($0, sealing) }
        }
    }

    func read<Value>(
        _ sql: String,
        _ values: any Bindable...,
        as body: (Rows) throws -> Value
    ) async throws(StoreError) -> Value {
        try await self.store.read(sql, values: values, as: body)
    }
}

extension StoredValue {
    fileprivate var parameter: any Bindable {
        switch self {
        case .integer(let number): number
        case .text(let text): text
        case .bytes(let bytes): bytes
        case .integers(let numbers): numbers
        }
    }
}
