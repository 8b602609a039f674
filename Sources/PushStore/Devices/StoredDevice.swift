package import Foundation
package import PushCore

/// A row of `device`: it represents a device, or a device's unconfirmed claim to a handle.
package struct StoredDevice: Sendable, Hashable {
    /// The maximum number of retired devices whose rows are kept for each user. Once such a row is
    /// deleted, its id may be registered again.
    package static let tombstoneLimit = 100
    /// The order of a user's retired devices, the newest first. The rows at the end are deleted.
    package static let tombstoneOrder = "retired_at desc, number desc"
    /// The maximum number of a user's ids that no device has registered yet. The stores delete
    /// older ids.
    package static let unusedLimit = 20

    package let number: Int64
    package let id: String
    package let user: Int64
    package let retiredReason: String?
    /// In a row without a handle, this property and the next four are `nil`.
    package let platform: Platform?
    package let lane: String?
    package let handle: Data?
    package let handleKey: Data?
    package let tags: Data?
    package let isShared: Bool
    /// How often the device was moved to the platform's other environment since it registered its
    /// handle.
    package let environmentMoves: Int64
    /// The number of the row of the device's claim to another handle; `nil` if it has no claim.
    package let claim: Int64?
    package let createdAt: Date
    package let registeredAt: Date
    package let retiredAt: Date?
    /// The text of the public keys for end-to-end encryption.
    package let key: String?

    package enum Column: Int32, SelectedColumn {
        case number, id, userID, retiredReason, platform, lane, handle, handleKey, tags, isShared, environmentMoves
        case claim, createdAt, registeredAt, retiredAt, encryptionKey

        package var sql: String {
            self == .claim ? "(select c.number from device c where c.claims_for = d.number)" : "d.\(self.columnName)"
        }
    }

    package static let select = "select \(Column.list) from device d"
}

extension StoredDevice {
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.number = try row.integer(Column.number)
        self.id = try row.text(Column.id)
        self.user = try row.integer(Column.userID)
        self.retiredReason = try row.optionalText(Column.retiredReason)
        self.platform = try row.optionalText(Column.platform).map(Platform.init(stored:))
        self.lane = try row.optionalText(Column.lane)
        self.handle = try row.optionalData(Column.handle)
        self.handleKey = try row.optionalData(Column.handleKey)
        self.tags = try row.optionalData(Column.tags)
        self.isShared = try row.flag(Column.isShared)
        self.environmentMoves = try row.integer(Column.environmentMoves)
        self.claim = try row.optionalInteger(Column.claim)
        self.createdAt = try row.date(Column.createdAt)
        self.registeredAt = try row.date(Column.registeredAt)
        self.retiredAt = try row.optionalDate(Column.retiredAt)
        self.key = try row.optionalText(Column.encryptionKey)
    }

    /// The registered or claimed handle, decrypted; `nil` before the first registration.
    func openHandle(_ sealing: Sealing) throws -> DeviceHandle? {
        try self.handle.flatMap { DeviceHandle(try sealing.text($0, in: .handle(self.number))) }
    }

    /// The tags, decrypted and sorted.
    func openTags(_ sealing: Sealing) throws -> [Tag] {
        try self.tags.map { try sealing.tags($0, in: .tags(self.number)) } ?? []
    }

    /// The registration that the device gets when the user confirms the claim in this row; `nil`
    /// if the row has no handle.
    func registration(_ sealing: Sealing) throws -> DeviceRegistration? {
        guard let platform, let lane, self.handle != nil else { return nil }
        guard let handle = try self.openHandle(sealing) else { throw VaultError.unreadable }
        let name = platform.description
        return DeviceRegistration(
            platform: platform,
            lane: Lane(platform, part: lane == name ? nil : String(lane.dropFirst(name.count + 1))),
            handle: handle,
            tags: Set(try self.openTags(sealing)),
            isShared: self.isShared
        )
    }
}
