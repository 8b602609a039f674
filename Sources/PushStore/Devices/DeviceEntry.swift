package import Foundation
package import PushCore

/// A registration in the form for administrators.
package struct DeviceEntry: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// The id was issued, but no device has registered under it yet.
        case requested
        case registered(Platform, PushEnvironment, DeviceHandle, tags: [Tag])
        /// The device was retired, and only a tombstone remains: nobody can register under the id.
        case retired(at: Date, reason: String)
    }

    package let id: RegistrationID
    package let username: Username
    package let state: State
    /// When the device last registered; `nil` if it has never registered.
    package let registeredAt: Date?
    package let pushedAt: Date?
    /// When the user last fetched one of the `countedForFetch` latest notifications in the user's
    /// list, with whatever device. `nil` if the user has not fetched any of them.
    package let fetchedAt: Date?
    /// The text of the device's public keys for end-to-end encryption.
    package let key: String?
    /// The device's place in the list.
    package let place: DevicePlace

    package var createdAt: Date { self.place.createdAt }

    /// The number of notifications that a list of devices examines for each user. The number is
    /// limited, since a user may have any number of notifications.
    package static let countedForFetch = 20
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

/// The place of a registration in lists. A list of all users' registrations is sorted by number,
/// and a list of one user's registrations by the time of creation.
package struct DevicePlace: Sendable, Hashable {
    package let createdAt: Date
    package let number: Int64

    package init(createdAt: Date, number: Int64) {
        (self.createdAt, self.number) = (createdAt, number)
    }
}
