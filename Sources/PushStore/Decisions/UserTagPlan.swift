package import Foundation
package import PushCore

/// A plan that replaces the tags that were given to a user.
package struct UserTagPlan: Sendable {
    package let user: Int64
    /// The encrypted tags; `nil` if the user has no tags.
    package let sealed: Data?
    package let keys: [Data]
    package let isErasing: Bool
    package let record: AuditRecord?

    /// Makes the plan; `nil` if there is no account. Also `nil` if `rights` is not `nil` and the
    /// account now has other rights.
    package init?(
        _ tags: Set<Tag>,
        of account: StoredAccount?,
        ifStill rights: AccountRights?,
        by record: AuditRecord?,
        _ sealing: Sealing
    ) throws {
        guard let account, rights == nil || rights == account.rights else { return nil }
        let old = Set(try account.openTags(sealing))
        self.user = account.id
        self.sealed = try tags.isEmpty ? nil : sealing.seal(tags, in: .userTags(account.id))
        self.keys = tags.map(sealing.index.hash)
        self.isErasing = !old.isEmpty
        var record = record
        record?.detail = Self.difference(from: old, to: tags)
        self.record = record
    }

    /// A text for the audit about the change, such as `added board, crew; removed night`.
    private static func difference(from old: Set<Tag>, to new: Set<Tag>) -> String {
        let parts = [("added", new.subtracting(old)), ("removed", old.subtracting(new))].compactMap { verb, tags in
            tags.isEmpty ? nil : "\(verb) \(tags.map(\.description).sorted().joined(separator: ", "))"
        }
        return parts.isEmpty ? "unchanged" : parts.joined(separator: "; ")
    }
}
