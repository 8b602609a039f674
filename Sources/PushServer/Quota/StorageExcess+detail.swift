internal import PushStore

extension StorageExcess {
    /// What the sender is told of it.
    func detail(_ bounds: StorageBounds) -> String {
        switch self {
        case .notifications:
            "at most \(bounds.notifications) stored notifications per user; each counts until it expires"
        case .bytes: "at most \(bounds.bytes) bytes of stored payloads per user; recalled notifications do not count"
        }
    }
}
