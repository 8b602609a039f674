/// A device of an audience that is registered and not retired.
package struct AudienceDevice: Sendable, Hashable {
    package let number: Int64
    package let user: Int64
    package let lane: String
    /// The registration id.
    package let id: String

    package init(number: Int64, user: Int64, lane: String, id: String) {
        (self.number, self.user, self.lane, self.id) = (number, user, lane, id)
    }
}

/// The devices of one page of an audience, and the users who receive the notification even without
/// a device.
package struct AudiencePage: Sendable, Hashable {
    package var devices: [AudienceDevice]
    package var users: [Int64]

    package init(devices: [AudienceDevice] = [], users: [Int64] = []) {
        (self.devices, self.users) = (devices, users)
    }
}

/// The position of a fan-out among the rows of an audience: all that a fan-out needs to continue
/// after a crash.
package struct AudienceWalk: Sendable, Hashable {
    /// A notification for more devices than this is a broadcast.
    package static let page = 1000
    /// The maximum number of devices read in one transaction of a broadcast: few enough that posts
    /// are hardly delayed.
    package static let step = 250

    /// The index of the audience's branch.
    package var branch: Int
    /// The last row that the fan-out has examined.
    package var cursor: Int64

    package init(branch: Int = 0, cursor: Int64 = 0) {
        (self.branch, self.cursor) = (branch, cursor)
    }
}
