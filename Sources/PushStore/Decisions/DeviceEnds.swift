internal import Foundation
package import PushCore

/// The devices of a user that are retired, and the user's unconfirmed claims to handles that are
/// deleted, in one transaction.
package struct DeviceEnds: Sendable, Hashable {
    /// Devices that are retired for the same reason.
    package struct Group: Sendable, Hashable {
        package let reason: String
        package let devices: [Int64]
    }

    package let retired: [Group]
    /// Unconfirmed claims to handles, which are deleted. A retired device leaves a row, so that
    /// nobody registers under its id. A deleted claim leaves none, because no client registers
    /// with the id of a claim.
    package let claims: [Int64]
    /// Records about the devices. In the audit, the record of the cause follows them.
    package let records: [AuditRecord]

    package var isEmpty: Bool { self.retired.isEmpty && self.claims.isEmpty }

    /// The retirement of devices whose sessions somebody has ended. The audit gets a record about
    /// each device, with the actor of `record`.
    package init(ofSessions devices: [EndingDevice], by record: AuditRecord?) {
        let group = Group(reason: RegisteredDevice.sessionEnded, devices: devices.map(\.number))
        self.retired = devices.isEmpty ? [] : [group]
        self.claims = []
        self.records = devices.compactMap { record?.another(.unregisterDevice, of: $0.id, detail: "with its session") }
    }

    /// The retirement of devices in apps that their user has left, and the deletion of the user's
    /// claims to handles in these apps.
    package init(of devices: [EndingDevice], outside apps: Set<AppName>) {
        let left = devices.filter { $0.app.map { !apps.contains($0) } ?? false }
        self.retired = Dictionary(grouping: left.filter { !$0.isClaim }, by: \.app).map { app, devices in
            let name = app?.description ?? ""
            return Group(reason: "the user no longer belongs to the app \(name)", devices: devices.map(\.number))
        }
        self.claims = left.filter(\.isClaim).map(\.number)
        self.records = []
    }
}

/// A device, or an unconfirmed claim to a handle, that may end because a session ends or because
/// the user leaves an app.
package struct EndingDevice: Sendable, Hashable {
    let number: Int64
    let id: String
    /// The app of the device's platform; `nil` until the device registers a handle.
    let app: AppName?
    let isClaim: Bool

    package enum Column: Int32, SelectedColumn {
        case number, id, platform, isClaim

        package var sql: String { self == .isClaim ? "claims_for is not null" : self.columnName }
    }

    package static let select = "select \(Column.list) from device"
}

extension EndingDevice {
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.number = try row.integer(Column.number)
        self.id = try row.text(Column.id)
        self.app = try row.optionalText(Column.platform).map { Platform(stored: $0).app }
        self.isClaim = try row.flag(Column.isClaim)
    }
}
