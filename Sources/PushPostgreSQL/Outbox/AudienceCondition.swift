internal import Foundation
internal import PushCore

/// The SQL conditions that select an audience, and the values of their parameters.
///
/// The first parameter is an array with the keyed hashes of all tags and names. The second is an
/// array of platforms, and the third is the app's name. So the SQL text depends only on the form
/// of the audience's expressions.
///
/// A condition looks up a tag by a scalar subquery. With `exists`, PostgreSQL would rather read
/// all rows of the tag for each page.
struct AudienceCondition {
    private(set) var hashes: [Data] = []
    let platforms: [String]
    let app: String
    /// The SQL condition on a row of `device` (alias `d`): the device can receive pushes and has
    /// one of the audience's platforms. In addition, one of the audience's expressions matches the
    /// tags of the device and of its user.
    private(set) var onDevice = ""
    /// The SQL condition on a row of `account` (alias `u`): the user belongs to the app. In
    /// addition, one of the audience's expressions matches the user's name and assigned tags. The
    /// tags of the user's devices do not matter.
    private(set) var onUser = ""

    private let index: BlindIndex
    private let policy: TagPolicy

    init(_ audience: HashedAudience) {
        (self.index, self.policy) = (audience.index, audience.policy)
        let audience = audience.audience
        self.platforms = audience.platforms?.map(\.description).sorted() ?? []
        self.app = audience.app.description
        let onDevice = audience.expressions.map { self.condition($0) { $0.onDevice($1) } }
        let onUser = audience.expressions.map { self.condition($0) { $0.onUser($1) } }
        let ofPlatform = audience.platforms == nil ? "true" : "d.platform = any($2::text[])"
        self.onDevice = "\(Self.activeDevice) and \(ofPlatform) and (\(onDevice.joined(separator: " or ")))"
        self.onUser = "(\(onUser.joined(separator: " or "))) and \(Self.hasUser(audience.app))"
    }

    /// The SQL condition on a row of `device` (alias `d`): the device can receive pushes.
    static let activeDevice = "d.retired_at is null and d.handle is not null and d.claims_for is null"

    /// The SQL condition on a row of `account` (alias `u`): the user belongs to the app.
    /// `parameter` is the SQL parameter that contains the app's name.
    static func hasUser(_ app: AppName, parameter: String = "$3") -> String {
        let isListed = "strpos(' ' || u.apps || ' ', ' ' || \(parameter)::text || ' ') > 0"
        return app == .usual ? "(u.apps is null or \(isListed))" : isListed
    }

    // MARK: - Private

    private mutating func condition(_ expression: TagExpression, _ tag: (inout Self, Tag) -> String) -> String {
        switch expression {
        case .tag(let name): tag(&self, name)
        case .not(let expression): "not (\(self.condition(expression, tag)))"
        case .and(let left, let right): "(\(self.condition(left, tag))) and (\(self.condition(right, tag)))"
        case .or(let left, let right): "((\(self.condition(left, tag))) or (\(self.condition(right, tag))))"
        }
    }

    private mutating func onDevice(_ tag: Tag) -> String {
        let hash = self.add(self.index.hash(tag))
        let own = "(select t.device from device_tag t where t.tag = \(hash) and t.device = d.number) is not null"
        let given = "(select g.user_id from user_tag g where g.tag = \(hash) and g.user_id = d.user_id) is not null"
        if tag.isReserved { return own }
        return self.policy.isOpen(tag) ? "(\(own) or \(given))" : given
    }

    private mutating func onUser(_ tag: Tag) -> String {
        if let name = tag.username { return "u.name_key = \(self.add(self.index.hash(name)))" }
        let hash = self.add(self.index.hash(tag))
        return "(select g.user_id from user_tag g where g.tag = \(hash) and g.user_id = u.id) is not null"
    }

    /// Adds the hash to the array of the first parameter, unless the array already contains it.
    /// Returns the SQL expression for this element of the array.
    private mutating func add(_ hash: Data) -> String {
        if let index = self.hashes.firstIndex(of: hash) { return "($1::bytea[])[\(index + 1)]" }
        self.hashes.append(hash)
        return "($1::bytea[])[\(self.hashes.count)]"
    }
}
