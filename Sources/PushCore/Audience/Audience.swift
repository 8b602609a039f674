internal import Foundation

/// The devices and users that a notification reaches, on certain platforms.
package struct Audience: Sendable, Hashable {
    package enum Aim: Sendable, Hashable {
        /// The devices that match at least one of the expressions.
        case expressions([TagExpression])
        /// A single device of a user.
        case device(RegistrationID, ofUser: Int64)
    }

    package let aim: Aim
    /// The app of the notification. Only users of this app become recipients.
    package let app: AppName
    /// The platforms of the app. `nil` means all platforms of the app; the server uses `nil` if it
    /// has only one app.
    package let platforms: Set<Platform>?

    package init(_ expressions: [TagExpression], of app: AppName = .usual, platforms: Set<Platform>? = nil) {
        self.aim = .expressions(expressions)
        self.app = app
        self.platforms = platforms
    }

    package init(device: RegistrationID, ofUser user: Int64, of app: AppName = .usual) {
        self.aim = .device(device, ofUser: user)
        self.app = app
        self.platforms = nil
    }

    /// Reads the columns of an audience: the decrypted expressions, and the platforms' names as
    /// JSON. Throws if one of them cannot be decoded.
    package init(expressions: [String], of app: AppName, platformNames: String?) throws {
        let platforms = try platformNames.map { try JSONDecoder().decode([String].self, from: Data($0.utf8)) }
        self.init(
            try expressions.map { try TagExpression($0) },
            of: app,
            platforms: platforms.map { Set($0.map { Platform(stored: $0) }) }
        )
    }

    /// The platforms' names as JSON; `nil` for all platforms.
    package var platformNames: String? {
        get throws {
            try self.platforms.map {
                String(decoding: try JSONEncoder().encode($0.map(\.description).sorted()), as: UTF8.self)
            }
        }
    }

    package var expressions: [TagExpression] {
        if case .expressions(let expressions) = self.aim { expressions } else { [] }
    }

    /// Whether a device of this lane (a provider's queue) belongs to the app, if the audience
    /// names no platforms. The database may have devices of an app that was removed from this
    /// server's configuration, or that only another server has.
    package func includes(lane: String) -> Bool {
        let isOfOthers = lane.utf8.contains(UInt8(ascii: ":"))
        return self.app == (isOfOthers ? Platform(stored: Lane(stored: lane).platform).app : .usual)
    }

    /// The users whom the audience names. They become recipients even without a device.
    package var usernames: [Username] { self.expressions.compactMap(\.onlyUsername) }

    /// A set of tags such that each matching device has at least one of them; `nil` if no such set
    /// can be computed.
    package var branches: [Tag]? {
        var tags: Set<Tag> = []
        for expression in self.expressions {
            guard let own = expression.branches else { return nil }
            tags.formUnion(own)
        }
        // The tags are sorted, so that each page of the fan-out finds them in the same order.
        return tags.isEmpty ? nil : tags.sorted { $0.description < $1.description }
    }
}

extension TagExpression {
    fileprivate var branches: [Tag]? {
        switch self {
        case .tag(let tag): return [tag]
        case .not: return nil
        case .or(let left, let right):
            guard let left = left.branches, let right = right.branches else { return nil }
            return left + right
        case .and(let left, let right):
            guard let left = left.branches, let right = right.branches else { return left.branches ?? right.branches }
            // A tag with a user's name is preferred: a user has few devices, but any other tag may
            // be on all devices.
            let rank = { (tags: [Tag]) in tags.allSatisfy { $0.username != nil } ? tags.count : 1000 + tags.count }
            return rank(left) <= rank(right) ? left : right
        }
    }
}
