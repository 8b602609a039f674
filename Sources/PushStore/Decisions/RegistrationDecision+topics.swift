internal import Foundation
package import PushCore

extension RegistrationDecision {
    /// The tags that a device has after a change of its topics.
    package struct TopicPlan: Sendable, Hashable {
        package let device: Int64
        package let tags: Set<Tag>
        package let record: AuditRecord?
    }

    /// Adds a tag to the tags that the device has chosen, or removes one of them. The plan is
    /// `nil` if the store must write nothing.
    package func change(
        _ change: TopicChange,
        of device: StoredDevice?
    ) throws -> (outcome: TopicOutcome, plan: TopicPlan?) {
        guard let device else { return (.gone(reason: Self.notIssued), nil) }
        if let reason = device.retiredReason { return (.gone(reason: reason), nil) }
        guard let platform = device.platform, device.handle != nil else { return (.unregistered, nil) }
        let old = Set(try device.openTags(self.sealing))
        // The tag with the user's name is always there; it is not one of the tags that a device
        // chooses.
        let own = Tag(of: self.user.name)
        var chosen = old.subtracting([own])
        switch change {
        case .join(let tag): chosen.insert(tag)
        case .leave(let tag): chosen.remove(tag)
        }
        let tags = chosen.union([own])
        guard tags != old else { return (.done, nil) }
        if case .join = change, chosen.count > Tag.maximumPerDevice { return (.tooMany, nil) }
        let record = self.record.map { self.recorded(.registerDevice, $0, platform) }
        return (.done, TopicPlan(device: device.number, tags: tags, record: record))
    }
}
