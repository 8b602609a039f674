internal import GRDB
package import PushCore

/// Whom a notification is for: the devices that any of the expressions names, on the platforms asked for.
package struct Audience: Sendable, Hashable {
    package let expressions: [TagExpression]
    /// `nil`: on all.
    package let platforms: Set<Platform>?

    package init(_ expressions: [TagExpression], platforms: Set<Platform>? = nil) {
        self.expressions = expressions
        self.platforms = platforms
    }

    /// A condition on a row of `device`, here called `d`, that holds for the living devices meant.
    var condition: SQL {
        let matches = self.expressions.map { "(\($0.condition))" as SQL }.joined(operator: .or)
        let living: SQL = "d.retired_at is null and d.handle is not null and \(matches)"
        guard let platforms else { return living }
        return "\(living) and d.platform in \(platforms.map(\.description))"
    }

    /// The users who are meant as such, and so collect also without a device.
    var usernames: [Username] { self.expressions.compactMap(\.onlyUsername) }
}

extension TagExpression {
    fileprivate var condition: SQL {
        switch self {
        case .tag(let tag):
            "exists (select 1 from device_tag t where t.tag = \(tag.description) and t.device_id = d.id)"
        case .not(let expression): "not (\(expression.condition))"
        case .and(let left, let right): "(\(left.condition)) and (\(right.condition))"
        case .or(let left, let right): "(\(left.condition)) or (\(right.condition))"
        }
    }
}
