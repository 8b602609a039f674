internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

extension Registrar {
    /// Adds a tag to the device's own, or removes one. A repeated change writes nothing.
    func change(_ change: TopicChange, of id: RegistrationID, _ db: Database) throws -> TopicOutcome {
        guard let issued = try self.issued(id, db) else { return .gone(reason: Self.notIssued) }
        if let reason = issued.retiredReason { return .gone(reason: reason) }
        guard let platform = issued.platform, let sealed = try self.sealedTags(of: issued.number, db) else {
            return .unregistered
        }
        let old = Set(try self.sealing.tags(sealed, in: .tags(issued.number)))
        // The user's own tag is not one of the tags that a device chooses, and stays.
        let own = Tag(of: self.user.name)
        var chosen = old.subtracting([own])
        switch change {
        case .join(let tag): chosen.insert(tag)
        case .leave(let tag): chosen.remove(tag)
        }
        let tags = chosen.union([own])
        guard tags != old else { return .done }
        if case .join = change, chosen.count > Tag.maximumPerDevice { return .tooMany }
        try db.run(
            prepared: "update device set tags = ? where number = ?",
            try self.sealing.seal(tags, in: .tags(issued.number)),
            issued.number
        )
        try self.replaceTags(of: issued.number, by: Set(tags.map(self.sealing.index.hash)), db)
        self.writer.recordErasure()
        try self.appendToAudit(.registerDevice, Platform(stored: platform), db)
        return .done
    }

    /// `nil` if the device has no handle registered.
    private func sealedTags(of device: Int64, _ db: Database) throws -> Data? {
        try db.first(prepared: "select tags from device where number = ? and handle is not null", device) { row in
            row.data(0)
        }
    }
}
