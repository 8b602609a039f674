internal import Foundation
internal import PushCore

/// The columns that lists of devices select after those of `StoredDevice.Column`.
package enum ListedColumn: Int32, SelectedColumn {
    case pushedAt = 16
    case username, fetchedAt

    package var sql: String {
        switch self {
        case .pushedAt: "p.accepted_at"
        case .username: "u.name"
        case .fetchedAt: DeviceEntry.fetchedAt(ofUser: "d.user_id")
        }
    }
}

extension RegisteredDevice: StoredEntity {
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        let device = try StoredDevice(row)
        guard let handle = try device.openHandle(sealing), let id = RegistrationID(device.id),
            let platform = device.platform, let lane = device.lane
        else { return nil }
        self.init(
            number: device.number,
            id: id,
            platform: platform,
            environment: PushEnvironment(ofLane: lane, on: platform),
            handle: handle,
            tags: try device.openTags(sealing),
            isShared: device.isShared,
            createdAt: device.createdAt,
            pushedAt: try row.optionalDate(ListedColumn.pushedAt),
            key: device.key
        )
    }
}

extension DeviceOwner {
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        let user = try row.integer(StoredDevice.Column.userID)
        self.init(id: user, name: try sealing.username(row.data(ListedColumn.username), ofUser: user))
    }
}

extension DeviceEntry: StoredEntity {
    /// The SQL subquery for the column `fetchedAt`.
    static func fetchedAt(ofUser user: String) -> String {
        """
        (select max(x.fetched_at) from (
            select r.fetched_at from recipient r where r.user_id = \(user)
            order by r.change desc limit \(Self.countedForFetch)) x)
        """
    }

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        let device = try StoredDevice(row)
        guard let id = RegistrationID(device.id) else { return nil }
        let state: State
        if let retiredAt = device.retiredAt {
            state = .retired(at: retiredAt, reason: device.retiredReason ?? "")
        } else if let platform = device.platform {
            guard let handle = try device.openHandle(sealing), let lane = device.lane else { return nil }
            let environment = PushEnvironment(ofLane: lane, on: platform)
            state = .registered(platform, environment, handle, tags: try device.openTags(sealing))
        } else {
            state = .requested
        }
        self.init(
            id: id,
            username: try DeviceOwner(row, sealing).name,
            state: state,
            registeredAt: state == .requested ? nil : device.registeredAt,
            pushedAt: try row.optionalDate(ListedColumn.pushedAt),
            fetchedAt: try row.optionalDate(ListedColumn.fetchedAt),
            key: device.key,
            place: DevicePlace(createdAt: device.createdAt, number: device.number)
        )
    }
}
