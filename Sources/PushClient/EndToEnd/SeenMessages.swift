internal import Foundation

/// The ids of the messages that an account has opened, each with its notification's id. They are
/// stored because the server could deliver a message again with another notification.
struct SeenMessages {
    /// The maximum number of messages, equal to the maximum number of cached notifications.
    static let maximumCount = 5000

    private struct Message {
        let notification: Int64
        let sentAt: Date
    }

    private var messages: [String: Message] = [:]

    /// Records a message, unless it is recorded already. Returns the notification with which the
    /// message first arrived, and whether the message is new.
    mutating func admit(
        _ message: String,
        sentAt: Date,
        of notification: Int64
    ) -> (notification: Int64, isNew: Bool) {
        if let seen = self.messages[message] { return (seen.notification, false) }
        self.messages[message] = Message(notification: notification, sentAt: sentAt)
        return (notification, true)
    }

    /// If there are more than `maximumCount` messages, forgets those that were sent first.
    mutating func shrink() {
        let excess = self.messages.count - Self.maximumCount
        guard excess > 0 else { return }
        for (id, _) in self.messages.sorted(by: { $0.value.sentAt < $1.value.sentAt }).prefix(excess) {
            self.messages[id] = nil
        }
    }
}

// MARK: - In their file

extension SeenMessages {
    var bytes: Data {
        var writer = ByteWriter()
        writer.list(Array(self.messages)) { writer, message in
            writer.text(message.key)
            writer.number(UInt64(bitPattern: message.value.notification))
            writer.date(message.value.sentAt)
        }
        return writer.bytes
    }

    /// Reads the messages; damaged bytes count as no messages.
    init(bytes: Data?) {
        var reader = ByteReader(bytes ?? Data())
        let messages = try? reader.list { reader in
            let id = try reader.text()
            return try (id, Message(notification: Int64(bitPattern: reader.number()), sentAt: reader.date()))
        }
        self.messages = Dictionary(messages ?? []) { first, _ in first }
    }
}

extension AccountDraft {
    /// Records opened messages with their notifications, and refuses a message that has arrived
    /// with another notification before.
    mutating func admit(_ results: [OpeningResult], of notifications: [Int64]) -> [OpeningResult] {
        var seen = SeenMessages(bytes: self.index.messages.flatMap(self.content))
        var hasNew = false
        let admitted = zip(results, notifications).map { result, notification in
            result.flatMap { opened in
                let (first, isNew) = seen.admit(opened.message, sentAt: opened.sentAt, of: notification)
                if isNew { hasNew = true }
                return first == notification ? result : .failure(.replayed)
            }
        }
        guard hasNew else { return admitted }
        seen.shrink()
        self.messages = seen.bytes
        self.index.messages = EntryName(messagesOf: self.commit, nonce: 0)
        return admitted
    }
}

extension EntryName {
    /// The name of the file with the ids of opened messages. The name has the id -1, which no
    /// notification of the server has.
    init(messagesOf commit: Int64, nonce: UInt8) {
        self.init(id: -1, commit: commit, nonce: nonce)
    }
}
