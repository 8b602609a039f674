package import Foundation
package import PushCore

/// A value that is decoded from a row, whichever database the store uses.
package protocol StoredEntity {
    /// Decodes a row. `nil` if a value of the row is one that this version never writes. Throws if
    /// a value cannot be decrypted.
    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws
}

/// A value for a parameter of a statement.
package enum StoredValue: Sendable {
    case integer(Int64?)
    case text(String)
    case bytes(Data)
    case integers([Int64])
}

/// A reader of lists and single entries. Each kind of database has its own statements for them.
///
/// The functions here pass the statements' values, and decode their rows, for all kinds of
/// databases. A statement must have its parameters in the order of the values that its function
/// passes.
package protocol SharedReader: Sendable {
    var sealing: Sealing { get }

    /// Runs a statement, and decodes its rows.
    func all<Entity: StoredEntity>(_ sql: String, _ values: [StoredValue]) async throws(StoreError) -> [Entity]

    static var accountWithID: String { get }
    static var accountNamed: String { get }
    static var passwordOf: String { get }
    static var lastUser: String { get }
    static var passwordFrom: String { get }
    static var anyUser: String { get }
    static var usersAfter: String { get }
    static var entryNamed: String { get }
    static var codeInUse: String { get }
    static var allTokens: String { get }
    static var tokensOfOne: String { get }
    static var registeredDevices: String { get }
    static var registeredDevice: String { get }
    static var moved: String { get }
    static var allDevices: String { get }
    static var devicesOfOne: String { get }
    static var deviceOfID: String { get }
    static var claims: String { get }
    static var apps: String { get }
    static var isThere: String { get }
    static var isFanningOut: String { get }
    static var deliveries: String { get }
    static var deliveriesToUser: String { get }
    static var counts: String { get }
    static var failedPushes: String { get }
    static var recipients: String { get }
    static var summary: String { get }
    static var latestNotifications: String { get }
    static var sendTime: String { get }
    static var delivered: String { get }
    static var lastAudit: String { get }
}

extension SharedReader {
    func exists(_ sql: String, _ values: [StoredValue] = []) async throws(StoreError) -> Bool {
        let rows: [AnyRow] = try await self.all(sql, values)
        return !rows.isEmpty
    }

    func first<Entity: StoredEntity>(
        _ sql: String,
        _ values: StoredValue...
    ) async throws(StoreError) -> Entity? {
        let rows: [Entity] = try await self.all(sql, values)
        return rows.first
    }

    func number(_ sql: String, _ values: [StoredValue] = []) async throws(StoreError) -> Int64? {
        let rows: [Number] = try await self.all(sql, values)
        return rows.first?.value
    }
}

extension StoredValue {
    static func count(_ number: Int) -> StoredValue { .integer(Int64(number)) }
    static func date(_ date: Date) -> StoredValue { .integer(date.milliseconds) }
}

/// A row that is not decoded: the caller only needs to know that it exists.
private struct AnyRow: StoredEntity {
    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) {}
}

private struct Number: StoredEntity {
    let value: Int64?

    init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        self.value = try row.optionalInteger()
    }
}
