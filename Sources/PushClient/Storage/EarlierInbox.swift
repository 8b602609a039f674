internal import Foundation
internal import PushAPI

/// The values that versions of this library up to 0.1.0 stored for an account.
struct EarlierValues {
    let inbox: EarlierInbox?
    /// When the inbox with a certain cursor was last known to be complete.
    let confirmation: EarlierConfirmation?
    let registration: StoredRegistration?
}

/// The cached inbox, which versions up to 0.1.0 stored as one value.
struct EarlierInbox: Codable {
    struct Entry: Codable {
        let body: Data
    }

    let cursor: String?
    let entries: [Int64: Entry]
    let date: Date

    var items: [NotificationItem] {
        self.entries.values.compactMap { entry in
            // An item in the format of another version counts as missing.
            (try? JSONValue(reading: entry.body)).flatMap(NotificationItem.init)
        }
    }
}

struct EarlierConfirmation: Codable {
    let cursor: String
    let date: Date
}

extension FolderStore {
    private static let earlierEndings = ["kept", "evictable"]

    func earlier(of account: String, proof: AccountIndex.Proof) -> EarlierValues? {
        guard !self.earlierFiles(of: account).isEmpty else { return nil }
        let name = proof == .signed ? "signed" : "echoed"
        return EarlierValues(
            inbox: self.earlierValue("\(name)/inbox", of: account),
            confirmation: self.earlierValue("\(name)/confirmation", of: account),
            registration: self.earlierValue("registration", of: account)
        )
    }

    func removeEarlier(of account: String) {
        for file in self.earlierFiles(of: account) { Self.remove(file) }
    }

    private func earlierFiles(of account: String) -> [URL] {
        let folder = self.url(of: self.folder(of: account))
        // Files that cannot be listed now are converted by a later call.
        let names = (try? Self.files(in: folder)) ?? []
        return names.filter { name in Self.earlierEndings.contains { name.hasSuffix(".\($0)") } }
            .map { folder.appending(path: $0, directoryHint: .notDirectory) }
    }

    private func earlierValue<Value: Decodable>(_ name: String, of account: String) -> Value? {
        let hash = self.hash("value\n\(account)\n\(name)")
        let file = self.url(of: self.folder(of: account)).appending(path: "\(hash).kept", directoryHint: .notDirectory)
        // A file that cannot be decrypted, or has the format of another version, counts as
        // missing.
        guard let sealed = try? Self.read(file), let bytes = try? self.open(sealed, bound: "1\n\(account)\n\(name)")
        else {
            return nil
        }
        return try? PropertyListDecoder().decode(Value.self, from: bytes)
    }
}

extension AccountDraft {
    /// Takes over the values that an earlier version stored, unless the index has newer values.
    mutating func adopt(_ values: EarlierValues) {
        self.index.registration = self.index.registration ?? values.registration
        guard self.index.cursor == nil, let inbox = values.inbox, let cursor = inbox.cursor else { return }
        for item in inbox.items where self.index.entries[item.id] == nil && self.index.deletions[item.id] == nil {
            self.put(CachedItem(item, date: inbox.date))
        }
        self.index.cursor = cursor
        let confirmed = values.confirmation.flatMap { $0.cursor == cursor ? $0.date : nil }
        self.index.syncedAt = max(confirmed ?? inbox.date, inbox.date)
    }
}
