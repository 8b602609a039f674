internal import PushCore

extension StorageExcess {
    /// The detail of the problem that the sender gets.
    func detail(_ bounds: StorageBounds) -> String {
        switch self {
        case .notifications:
            "a user may have at most \(bounds.notifications) notifications stored; recall some, or send with a shorter ExpiresIn"
        case .bytes:
            "a user may have at most \(bounds.bytes) bytes of payloads stored; recall notifications to free space"
        }
    }
}
