package import PushCore

/// A registered device that belongs to an audience. Retired devices are left out.
package struct AudienceDevice: Sendable, Hashable {
    package let number: Int64
    package let user: Int64
    package let lane: String
    /// The device's registration id.
    package let id: String

    package init(number: Int64, user: Int64, lane: String, id: String) {
        (self.number, self.user, self.lane, self.id) = (number, user, lane, id)
    }
}

/// A page of an audience: devices, and users who become recipients even without a device.
package struct AudiencePage: Sendable, Hashable {
    package var devices: [AudienceDevice]
    package var users: [Int64]

    package init(devices: [AudienceDevice] = [], users: [Int64] = []) {
        (self.devices, self.users) = (devices, users)
    }

    /// Removes devices of other apps; see `Audience.includes`.
    package mutating func keepDevices(of audience: Audience) {
        if audience.platforms == nil { self.devices.removeAll { !audience.includes(lane: $0.lane) } }
    }
}

/// The position of a fan-out in the rows of an audience. From this position, a fan-out can
/// continue after a crash.
package struct AudienceWalk: Sendable, Hashable {
    /// A notification for more devices than this number is a broadcast.
    package static let page = 1000
    /// The maximum number of devices that one transaction of a broadcast reads. Because of this
    /// small number, concurrent posts are hardly delayed.
    package static let step = 250

    /// The index of the current branch in `HashedAudience.branches`.
    package var branch: Int
    /// The last row of the branch that the fan-out has examined.
    package var cursor: Int64

    package init(branch: Int = 0, cursor: Int64 = 0) {
        (self.branch, self.cursor) = (branch, cursor)
    }
}
