internal import PushStore

extension StorageExcess {
    /// What the sender is told of it.
    func detail(_ bounds: StorageBounds) -> String {
        switch self {
        case .notifications: "at most \(bounds.notifications) notifications at once; each counts until it expires"
        case .bytes: "at most \(bounds.bytes) bytes of payloads at once; a recalled one does not count any more"
        }
    }
}
