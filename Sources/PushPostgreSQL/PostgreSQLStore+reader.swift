package import PostgreSQL
internal import PushCore
package import PushStore

/// The store is its own reader. It reads from the primary, through pipelined connections that all
/// its users share.
extension PostgreSQLStore: StoreReader, GroupedReader {
    package func makeReader() throws(StoreError) -> any StoreReader { self }

    package var fetchReader: FetchReader { .grouped(self) }

    package func all<Entity: StoredEntity>(
        _ sql: String,
        _ values: [StoredValue]
    ) async throws(StoreError) -> [Entity] {
        try await self.read(sql, values: values.map(\.parameter)) { try $0.compactMap { try Entity($0, self.sealing) } }
    }

    /// Runs a statement outside of a transaction.
    func read(_ sql: String, _ values: any Bindable...) async throws(StoreError) -> Rows {
        try await self.read(sql, values: values) { $0 }
    }

    func read<Value>(
        _ sql: String,
        _ values: any Bindable...,
        as body: (Rows) throws -> Value
    ) async throws(StoreError) -> Value {
        try await self.read(sql, values: values, as: body)
    }

    /// Runs a statement outside of a transaction, and decodes its rows with `body`. Errors of the
    /// statement and of `body` become `StoreError`.
    func read<Value>(
        _ sql: String,
        values: [any Bindable],
        as body: (Rows) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try body(try await self.database.query(sql, values: values))
        } catch {
            let failure = StoreError(reading: error) ?? .failed(reason: "\(type(of: error))")
            self.condition.shared.record(failure)
            throw failure
        }
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

extension Row: StoredRow {
    package func flag(_ column: Int32) throws -> Bool { try self.boolean(column) }
    package func bytes(_ column: Int32) throws -> [UInt8] { Array(try self.data(column)) }
}
