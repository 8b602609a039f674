internal import PushStore

extension StorageExcess {
    /// What the sender is told of it.
    func detail(_ bounds: StorageBounds) -> String {
        switch self {
        case .notifications:
            "at most \(bounds.notifications) stored notifications per user; recall some or send with a shorter ExpiresIn"
        case .bytes: "at most \(bounds.bytes) bytes of stored payloads per user; recall notifications to free space"
        }
    }
}
