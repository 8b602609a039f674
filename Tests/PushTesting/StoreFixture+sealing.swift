internal import Foundation
internal import PushCore
internal import PushStore

extension StoreFixture {
    /// The values that `openSealed` returns after `fillSealed`.
    package static let sealedSample = [
        "alice": ["d-alice-0", "d-alice-1", "d-alice-2", "payload 5"],
        "bob": ["d-bob-0", "d-bob-1", "d-bob-2", "payload 3"],
    ]

    /// Stores samples of all kinds of encrypted values: names, handles, tags, payloads, alerts,
    /// and expressions of running broadcasts.
    package func fillSealed() async throws {
        for name in ["alice", "bob"] {
            let user = try await self.addUser(name)
            for number in 0..<3 { try await self.addDevice(of: user, handle: "d-\(name)-\(number)", tags: ["news"]) }
            var alert = PushAlert()
            alert[.bodyKey] = "NEWS_OF_\(name)"
            try await self.post(Int64(name.utf8.count), from: user, to: "news", alert: alert, page: 2)
        }
    }

    /// Returns the handles of each user's devices, and the payload that the user has sent.
    package func openSealed() async throws -> [String: [String]] {
        var opened: [String: [String]] = [:]
        for name in ["alice", "bob"] {
            let user = try await self.user(name)
            let handles = try await self.reader.devices(ofUser: user.id).map(\.handle.value)
            let number = Int64(name.utf8.count)
            guard let id = NotificationID(rawValue: number),
                let found = try await self.reader.notification(id, for: user.id, alsoAsSender: true, now: self.now)
            else { throw Missing("notification \(number) does not exist") }
            let payload = try self.store.vault.open(found.sealedPayload, in: .payload(id, sender: found.sender))
            opened[name] = handles.sorted() + [String(decoding: payload, as: UTF8.self)]
        }
        return opened
    }
}
