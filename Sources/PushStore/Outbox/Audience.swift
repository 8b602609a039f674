internal import Foundation
package import PushCore

/// Whom a notification is for, on the platforms asked for.
package struct Audience: Sendable, Hashable {
    package enum Aim: Sendable, Hashable {
        /// The devices that any of the expressions names.
        case expressions([TagExpression])
        /// One device of a user, and nobody else.
        case device(RegistrationID, ofUser: Int64)
    }

    package let aim: Aim
    /// `nil`: on all.
    package let platforms: Set<Platform>?

    package init(_ expressions: [TagExpression], platforms: Set<Platform>? = nil) {
        self.aim = .expressions(expressions)
        self.platforms = platforms
    }

    package init(device: RegistrationID, ofUser user: Int64) {
        self.aim = .device(device, ofUser: user)
        self.platforms = nil
    }

    package var expressions: [TagExpression] {
        if case .expressions(let expressions) = self.aim { expressions } else { [] }
    }

    /// The users who are meant as such, and so collect also without a device.
    package var usernames: [Username] { self.expressions.compactMap(\.onlyUsername) }

    /// Tags of which each device meant has at least one; `nil` if there are no such tags.
    package var branches: [Tag]? {
        var tags: Set<Tag> = []
        for expression in self.expressions {
            guard let own = expression.branches else { return nil }
            tags.formUnion(own)
        }
        // In an order that a later page finds again.
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
            // A user has few devices, another tag may have all.
            let rank = { (tags: [Tag]) in tags.allSatisfy { $0.username != nil } ? tags.count : 1000 + tags.count }
            return rank(left) <= rank(right) ? left : right
        }
    }
}
