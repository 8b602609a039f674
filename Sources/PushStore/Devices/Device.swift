package import Foundation
package import PushCore

/// A device as its owner sees it.
package struct RegisteredDevice: Sendable, Hashable {
    /// The device's number in the outbox.
    package let number: Int64
    package let id: RegistrationID
    package let platform: Platform
    /// The provider's environment where the handle works; the device may have registered another
    /// one.
    package let environment: PushEnvironment
    package let handle: DeviceHandle
    package let tags: [Tag]
    /// Whether other accounts may also have the handle.
    package let isShared: Bool
    package let createdAt: Date
    package let pushedAt: Date?
    /// The text of the device's public keys for end-to-end encryption, which the store does not
    /// interpret.
    package let key: String?
}

/// The user to whom a device belongs.
package struct DeviceOwner: Sendable, Hashable {
    package let id: Int64
    package let name: Username
}

/// A device of an audience, and the text of its public keys; `nil` if the device has set none.
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
        let user = try row.integer(Column.userID)
        self.id = id
        self.owner = DeviceOwner(id: user, name: try sealing.username(row.data(Column.name), ofUser: user))
        self.key = try row.optionalText(Column.encryptionKey)
    }
}

/// The properties that a device registers.
package struct DeviceRegistration: Sendable, Hashable {
    package let platform: Platform
    package var lane: Lane
    /// The lane of the platform's other environment, if it has one. A device that was moved there
    /// stays there.
    package let otherLane: Lane?
    package let handle: DeviceHandle
    /// The device's own tags, without the tag of the user, which the server adds.
    package let tags: Set<Tag>
    /// Whether registrations of other accounts with the same handle stay in place.
    package let isShared: Bool
    /// Set if the handle can be guessed: the id of the notification that carries a code to the
    /// handle. It is not used if the user already has the handle.
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

/// A device's change of its topics. A topic is one of the device's tags.
package enum TopicChange: Sendable, Hashable {
    case join(Tag)
    case leave(Tag)
}

/// The outcome of a `TopicChange`.
package enum TopicOutcome: Sendable, Hashable {
    /// The device has joined or left the topic, as requested.
    case done
    /// The id cannot be used any more; the device must ask for a new one.
    case gone(reason: String)
    /// The id has no registration yet, or waits for the confirmation of its first handle.
    case unregistered
    /// The device has the maximum number of tags.
    case tooMany
}

/// A registration that ended when another account registered its handle, as its owner sees it.
package struct MovedDevice: Sendable, Hashable {
    /// The reason why the device was retired; the answer to its next `PUT` has these words.
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
        self.init(
            id: id,
            platform: Platform(stored: try row.text(Column.movedPlatform)),
            createdAt: Date(milliseconds: try row.integer(Column.createdAt)),
            movedAt: Date(milliseconds: try row.integer(Column.retiredAt))
        )
    }
}

/// The outcome of a registration.
package enum RegisterOutcome: Sendable, Hashable {
    /// The device is registered; `moved` pushes that waited for it have moved to the lane of its
    /// new address.
    case registered(moved: Int)
    /// The handle can be guessed: the device is registered once the user returns the code that is
    /// pushed to it. `hasWork`: the push waits to be sent; otherwise an earlier push carries the
    /// code.
    case unconfirmed(hasWork: Bool)
    /// The id of the confirmation's notification is in use: choose another.
    case idTaken
    /// The user has requested the confirmation of too many handles; the next request is possible
    /// at `until`.
    case tooManyClaims(until: Date)
    /// The id cannot be used any more; the device must ask for a new one.
    case gone(reason: String)
    /// The user has the maximum number of devices.
    case tooMany
    /// The token has ended since the server admitted the request: the device is not registered.
    case signedOut
}

extension RegisteredDevice {
    /// The reason why a device is retired after somebody has ended its session; the answer to its
    /// next `PUT` has these words.
    package static let sessionEnded = "the session that registered it has ended"
}
