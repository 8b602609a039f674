internal import Foundation

/// A task that waits for the server.
struct OutboxTask: Sendable, Hashable {
    enum Kind: UInt8 {
        case read, unread, dismiss, send
    }

    /// The limits of the waiting tasks are small enough that the index has room for the inbox.
    static let maximumCount = 200
    static let maximumBytes = 4 << 20
    static let maximumFailures = 100
    /// The maximum number of bytes of a refusal's code.
    static let maximumCode = 128

    let kind: Kind
    /// The idempotency key of all attempts: the server carries out only one task with this key.
    let key: UUID
    /// The id of the notification; 0 for a task that sends one.
    let id: Int64
    /// The file of the payload to send; `nil` before the task is committed.
    var payload: EntryName?
    /// The size of the payload.
    let bytes: Int
    /// When the client first sent the task: from then on, the server may have received it. `nil`
    /// before.
    var triedAt: Date?

    init(_ kind: Kind, id: Int64 = 0, key: UUID = UUID(), bytes: Int = 0) {
        (self.kind, self.id, self.key, self.bytes) = (kind, id, key, bytes)
    }
}

extension AccountIndex {
    /// The last waiting task of each notification.
    var pending: [Int64: OutboxTask.Kind] {
        self.outbox.reduce(into: [:]) { pending, task in if task.kind != .send { pending[task.id] = task.kind } }
    }

    mutating func finish(_ keys: Set<UUID>) {
        self.outbox.removeAll { keys.contains($0.key) }
        self.failures.removeAll { keys.contains($0.key) }
    }

    /// Records tasks as failures until the app discards them. Ends them, if `isFinal`.
    mutating func fail(_ keys: Set<UUID>, _ code: String?, isFinal: Bool) {
        let failed = self.outbox.filter { keys.contains($0.key) }
        self.failures.removeAll { keys.contains($0.key) }
        if isFinal { self.outbox.removeAll { keys.contains($0.key) } }
        // The server's own codes are shorter. A longer code would leave less space for
        // notifications in the index.
        let code = code.map { String(decoding: $0.utf8.prefix(OutboxTask.maximumCode), as: UTF8.self) }
        self.failures += failed.map {
            Outbox.Failure(key: $0.key, notification: $0.kind == .send ? nil : $0.id, code: code)
        }
        self.failures.removeFirst(max(0, self.failures.count - OutboxTask.maximumFailures))
    }
}

extension AccountDraft {
    /// Appends a task; returns `false` if the outbox is full.
    ///
    /// A new task replaces an older one for the same notification. After a dismissal, tasks for
    /// the dismissed notification are ignored.
    mutating func enqueue(_ task: OutboxTask, payload: Data?) -> Bool {
        if task.kind != .send {
            if self.index.pending[task.id] == .dismiss { return true }
            self.index.outbox.removeAll { $0.kind != .send && $0.id == task.id }
        }
        let bytes = self.index.outbox.reduce(0) { $0 + $1.bytes }
        guard self.index.outbox.count < OutboxTask.maximumCount, bytes + task.bytes <= OutboxTask.maximumBytes else {
            return false
        }
        self.index.outbox.append(task)
        self.payloads[task.key] = payload
        return true
    }
}

// MARK: - In its file

extension OutboxTask {
    func write(to writer: inout ByteWriter, _ commit: Int64) {
        writer.byte(self.kind.rawValue)
        writer.uuid(self.key)
        writer.number(UInt64(bitPattern: self.id))
        writer.optional(self.payload) { writer, name in
            writer.age(name.commit, commit)
            writer.byte(name.nonce)
        }
        writer.number(UInt64(self.bytes))
        writer.optional(self.triedAt) { $0.date($1) }
    }

    init(_ reader: inout ByteReader, _ commit: Int64) throws {
        guard let kind = Kind(rawValue: try reader.byte()) else { throw ByteReader.Malformed() }
        let (key, id) = (try reader.uuid(), Int64(bitPattern: try reader.number()))
        let payload = try reader.optional { try EntryName(payloadOf: $0.age(commit), nonce: $0.byte()) }
        self.init(kind, id: id, key: key, bytes: Int(clamping: try reader.number()))
        self.payload = payload
        self.triedAt = try reader.optional { try $0.date() }
    }
}

extension Outbox.Failure {
    func write(to writer: inout ByteWriter) {
        writer.uuid(self.key)
        writer.optional(self.notification) { $0.number(UInt64(bitPattern: $1)) }
        writer.optional(self.code) { $0.text($1) }
    }

    init(_ reader: inout ByteReader) throws {
        let key = try reader.uuid()
        let notification = try reader.optional { Int64(bitPattern: try $0.number()) }
        self.init(key: key, notification: notification, code: try reader.optional { try $0.text() })
    }
}

extension EntryName {
    /// The name of the file of a waiting payload. It uses the id 0, which no notification of the
    /// server has.
    init(payloadOf commit: Int64, nonce: UInt8) {
        self.init(id: 0, commit: commit, nonce: nonce)
    }
}
