internal import PushCore
internal import SQLite

/// SQL conditions that are made from the tag expressions of the audience.
extension HashedAudience {
    /// The SQL condition on a row of `device` (alias `d`): the device is not retired, and belongs
    /// to the audience.
    var onDevice: SQL {
        let meant: SQL
        switch self.audience.aim {
        case .expressions(let expressions):
            meant = Self.any(expressions.map { self.condition($0, onTag: self.ofDevice) })
        case .device(let id, let user): meant = "d.id = \(id.description) and d.user_id = \(user)"
        }
        let living: SQL = "d.retired_at is null and d.handle is not null and d.claims_for is null and \(meant)"
        guard let platforms = self.audience.platforms else { return living }
        return "\(living) and d.platform in \(platforms.map(\.description))"
    }

    /// The SQL condition on a row of `account` (alias `u`): one of the audience's expressions
    /// matches the user's name and assigned tags. The tags of the user's devices do not matter.
    var onUser: SQL {
        let conditions = self.audience.expressions.map { self.condition($0, onTag: self.ofUser) }
        return "\(Self.any(conditions)) and \(self.audience.app.hasUser)"
    }

    // MARK: - Private

    private func ofDevice(_ tag: Tag) -> SQL {
        let hash = self.index.hash(tag)
        let own: SQL = "exists (select 1 from device_tag t where t.tag = \(hash) and t.device = d.number)"
        let given: SQL = "exists (select 1 from user_tag g where g.tag = \(hash) and g.user_id = d.user_id)"
        if tag.isReserved { return own }
        return self.policy.isOpen(tag) ? "(\(own) or \(given))" : given
    }

    private func ofUser(_ tag: Tag) -> SQL {
        if let name = tag.username { return "u.name_key = \(self.index.hash(name))" }
        return "exists (select 1 from user_tag g where g.tag = \(self.index.hash(tag)) and g.user_id = u.id)"
    }

    private func condition(_ expression: TagExpression, onTag: (Tag) -> SQL) -> SQL {
        switch expression {
        case .tag(let tag): onTag(tag)
        case .not(let expression): "not (\(self.condition(expression, onTag: onTag)))"
        case .and(let left, let right):
            "(\(self.condition(left, onTag: onTag))) and (\(self.condition(right, onTag: onTag)))"
        case .or(let left, let right):
            "(\(self.condition(left, onTag: onTag))) or (\(self.condition(right, onTag: onTag)))"
        }
    }

    private static func any(_ conditions: [SQL]) -> SQL {
        guard let first = conditions.first else { return "(0)" }
        return "(\(conditions.dropFirst().reduce("(\(first))" as SQL) { "\($0) or (\($1))" }))"
    }
}

extension AppName {
    /// The SQL condition on a row of `account` (alias `u`): the user belongs to the app.
    var hasUser: SQL {
        let isListed: SQL = "instr(' ' || u.apps || ' ', \(" \(self) ")) > 0"
        return self == .usual ? "(u.apps is null or \(isListed))" : isListed
    }
}
