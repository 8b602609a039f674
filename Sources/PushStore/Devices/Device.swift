package import Foundation
package import PushCore

/// A registered device, in the form for its owner.
package struct RegisteredDevice: StoredEntity, Sendable, Hashable {
    /// The reason for retiring a device after its session was ended. The answer to the device's
    /// next `PUT` contains this text.
    package static let sessionEnded = "the session that registered it has ended"

    /// The number by which the outbox identifies the device; not the registration id.
    package let number: Int64
    package let id: RegistrationID
    package let platform: Platform
    /// The provider's environment that accepts the handle. The device may have registered the
    /// other environment.
    package let environment: PushEnvironment
    package let handle: DeviceHandle
    package let tags: [Tag]
    /// Whether other accounts may register the same handle, too.
    package let isShared: Bool
    package let createdAt: Date
    package let pushedAt: Date?
    /// The text of the device's public keys for end-to-end encryption. The store does not
    /// interpret this text.
    package let key: String?

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        let device = try StoredDevice(row)
        guard let handle = try device.openHandle(sealing), let id = RegistrationID(device.id),
            let platform = device.platform, let lane = device.lane
        else { return nil }
        (self.number, self.id, self.platform, self.handle) = (device.number, id, platform, handle)
        self.environment = PushEnvironment(ofLane: lane, on: platform)
        self.tags = try device.openTags(sealing)
        (self.isShared, self.createdAt, self.key) = (device.isShared, device.createdAt, device.key)
        self.pushedAt = try row.optionalDate(ListedColumn.pushedAt)
    }
}

/// The user to whom a device belongs.
package struct DeviceOwner: Sendable, Hashable {
    package let id: Int64
    package let name: Username

    init(id: Int64, name: Data, _ sealing: Sealing) throws {
        (self.id, self.name) = (id, try sealing.username(name, ofUser: id))
    }

    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        try self.init(id: row.integer(StoredDevice.Column.userID), name: row.data(ListedColumn.username), sealing)
    }
}

/// A device in an audience, with the text of its public keys, if the device has set any.
package struct DeviceKeyEntry: Sendable, Hashable {
    package let id: RegistrationID
    package let owner: DeviceOwner
    package let key: String?

    /// The columns, in a query that calls the device's table `d` and the user's `u`.
    package enum Column: Int32, SelectedColumn {
        case id, userID, name, encryptionKey

        package var sql: String { self == .name ? "u.name" : "d.\(self.columnName)" }
    }

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let id = RegistrationID(try row.text(Column.id)) else { return nil }
        self.id = id
        self.owner = try DeviceOwner(id: row.integer(Column.userID), name: row.data(Column.name), sealing)
        self.key = try row.optionalText(Column.encryptionKey)
    }
}

/// The values that a device registers.
package struct DeviceRegistration: Sendable, Hashable {
    package let platform: Platform
    package var lane: Lane
    /// The lane of the platform's other environment; `nil` if the platform has only one. If a
    /// device was moved to this lane, a registration does not move it back.
    package let otherLane: Lane?
    package let handle: DeviceHandle
    /// The tags that the device has chosen. The server adds a tag with the user's name.
    package let tags: Set<Tag>
    /// Whether other accounts keep their registrations of the same handle.
    package let isShared: Bool
    /// The id for the notification that will push a code to the handle; `nil` if other users
    /// cannot guess the handle. The id is not used if the user already has the handle.
    package let confirmation: NotificationID?

    package init(
        platform: Platform,
        lane: Lane,
        otherLane: Lane? = nil,
        handle: DeviceHandle,
        tags: Set<Tag>,
        isShared: Bool = false,
        confirmation: NotificationID? = nil
    ) {
        (self.platform, self.lane, self.otherLane) = (platform, lane, otherLane)
        (self.handle, self.tags, self.isShared, self.confirmation) = (handle, tags, isShared, confirmation)
    }
}

/// A change of the topics of a device. A topic is one of the device's tags.
package enum TopicChange: Sendable, Hashable {
    case join(Tag)
    case leave(Tag)
}

/// The outcome of a `TopicChange`.
package enum TopicOutcome: Sendable, Hashable {
    /// The device has joined or left the topic, as requested.
    case done
    /// The id can no longer be used; the device must request a new one.
    case gone(reason: String)
    /// No device is registered under this id yet, or its first handle still waits for the
    /// confirmation.
    case unregistered
    /// The device already has the maximum number of tags.
    case tooMany
}

/// A registration that ended because another account has registered its handle, in the form for
/// the former owner.
package struct MovedDevice: Sendable, Hashable {
    /// The reason for the end. The answer to the device's next `PUT` contains this text.
    package static let reason = "the handle was registered by another user"

    package let id: RegistrationID
    package let platform: Platform
    package let createdAt: Date
    package let movedAt: Date
}

extension MovedDevice: StoredEntity {
    package enum Column: Int32, SelectedColumn {
        case id, movedPlatform, createdAt, retiredAt
    }

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let id = RegistrationID(try row.text(Column.id)) else { return nil }
        self.id = id
        self.platform = Platform(stored: try row.text(Column.movedPlatform))
        self.createdAt = try row.date(Column.createdAt)
        self.movedAt = try row.date(Column.retiredAt)
    }
}

/// The outcome of a registration, or of a request with which a user returns a code.
package enum RegisterOutcome: Sendable, Hashable {
    /// The device is registered, by this request or by an earlier request with the same code.
    /// `moved` is the number of waiting pushes that have moved to the queue for the device's new
    /// address.
    case registered(moved: Int)
    /// Other users could guess the handle, so a code was pushed to it. The device is registered
    /// once the user returns the code. `hasWork`: this request has enqueued a push; otherwise an
    /// earlier push contains the code.
    case unconfirmed(hasWork: Bool)
    /// The id of the notification that carries the confirmation code is in use; the caller must
    /// try another.
    case idTaken
    /// The user has claimed too many handles. A further claim is possible at the time `until`.
    case tooManyClaims(until: Date)
    /// The code is wrong or no longer valid, or the device has claimed no handle.
    case refused
    /// The id for which the user has returned a code was not issued to this user.
    case missing
    /// The id can no longer be used; the device must request a new one.
    case gone(reason: String)
    /// The user already has the maximum number of devices. A claim to a handle remains.
    case tooMany
    /// The token has ended since the server admitted the request, so the device is not registered.
    case signedOut
}
