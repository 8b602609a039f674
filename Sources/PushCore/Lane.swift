/// A queue of pushes to one provider. Each lane has its own rate, health and number of concurrent
/// calls, so that no lane waits for another one.
///
/// Most platforms have one lane. A platform whose devices name their provider, such as Web Push,
/// has one lane for each provider.
package struct Lane: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// The lane of the platform, or of a part of it, such as a host.
    package init(_ platform: Platform, part: String? = nil) {
        self.description = part.map { "\(platform)/\($0)" } ?? platform.description
    }

    /// Reads a lane's `description`.
    package init(stored text: String) {
        self.description = text
    }

    /// The end of the name of a lane that carries looks. A look is a push that shows nothing and
    /// makes a device fetch changes.
    package static let lookSuffix = "/look"

    /// The lane of the looks that are sent to the devices of this lane.
    package var ofLooks: Lane { self.isOfLooks ? self : Lane(stored: self.description + Self.lookSuffix) }

    package var isOfLooks: Bool { self.description.hasSuffix(Self.lookSuffix) }

    /// The lane that the store records for the devices: this lane or, if this lane carries looks,
    /// the lane that carries the other pushes to the same devices.
    package var ofDevices: Lane {
        self.isOfLooks ? Lane(stored: String(self.description.dropLast(Self.lookSuffix.count))) : self
    }

    /// The name of the platform that contains the lane.
    package var platform: String { String(self.description.prefix { $0 != "/" }) }

    /// The app whose devices the lane reaches.
    package var app: AppName { Platform(stored: self.platform).app }
}
