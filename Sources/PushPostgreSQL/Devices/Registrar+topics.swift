internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension Registrar {
    /// Adds a tag to the device's own, or removes one. A repeated change writes nothing.
    func change(_ change: TopicChange, of id: RegistrationID) async throws -> TopicOutcome {
        try await self.lockUser()
        guard let issued = try await self.issued(id) else { return .gone(reason: Self.notIssued) }
        if let reason = issued.retiredReason { return .gone(reason: reason) }
        guard let platform = issued.platform, let sealed = issued.tags else { return .unregistered }
        let old = Set(try self.sealing.tags(sealed, in: .tags(issued.number)))
        // Keeps the user's own tag, which is not among the tags that a device chooses.
        let own = Tag(of: self.user.name)
        var chosen = old.subtracting([own])
        switch change {
        case .join(let tag): chosen.insert(tag)
        case .leave(let tag): chosen.remove(tag)
        }
        let tags = chosen.union([own])
        guard tags != old else { return .done }
        if case .join = change, chosen.count > Tag.maximumPerDevice { return .tooMany }
        let value = try self.sealing.seal(tags, in: .tags(issued.number))
        _ = try await self.tx.query(Self.saveTags, issued.number, value)
        try await self.replaceTags(of: issued.number, by: Set(tags.map(self.sealing.index.hash)))
        self.appendToAudit(.registerDevice, Platform(stored: platform))
        return .done
    }

    private static let saveTags = "update device set tags = $2 where number = $1"
}
