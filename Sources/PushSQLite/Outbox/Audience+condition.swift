internal import GRDB
internal import PushCore
internal import PushStore

extension Audience {
    /// A condition on a row of `device`, here called `d`, that holds for the living devices of the audience.
    func condition(_ index: BlindIndex) -> SQL {
        let meant: SQL
        switch self.aim {
        case .expressions(let expressions):
            meant = "(\(expressions.map { "(\($0.condition(index)))" as SQL }.joined(separator: " or ")))"
        case .device(let id, let user): meant = "d.id = \(id.description) and d.user_id = \(user)"
        }
        let living: SQL = "d.retired_at is null and d.handle is not null and d.claims_for is null and \(meant)"
        guard let platforms else { return living }
        return "\(living) and d.platform in \(platforms.map(\.description))"
    }
}

extension TagExpression {
    fileprivate func condition(_ index: BlindIndex) -> SQL {
        switch self {
        case .tag(let tag):
            "exists (select 1 from device_tag t where t.tag = \(index.hash(tag)) and t.device = d.number)"
        case .not(let expression): "not (\(expression.condition(index)))"
        case .and(let left, let right): "(\(left.condition(index))) and (\(right.condition(index)))"
        case .or(let left, let right): "(\(left.condition(index))) or (\(right.condition(index)))"
        }
    }
}
