internal import Foundation

/// The format of an index in its file, with about twelve bytes for each notification.
///
/// The ids are sorted, and each is stored as its difference from the id before it. Each commit is
/// stored as its distance from the latest commit.
extension AccountIndex {
    private static let form: UInt8 = 2
    /// The version that adds an outbox at the end. An index without an outbox has the format that
    /// earlier versions read, too.
    private static let formWithOutbox: UInt8 = 3
    /// The version that adds the account's identifiers after the outbox.
    private static let formWithAccount: UInt8 = 4
    /// The version that adds the name of the file of opened messages.
    private static let formWithMessages: UInt8 = 5
    /// The version that adds the account's tokens; the file of opened messages is optional.
    private static let formWithTokens: UInt8 = 6

    /// Encodes the index as of the given commit.
    func bytes(_ commit: Int64) -> Data {
        var writer = ByteWriter()
        let hasMessages = self.messages != nil
        let hasTokens = !self.tokens.isEmpty
        let hasAccount = hasTokens || hasMessages || self.account != nil || self.signOuts.contains { $0.account != nil }
        let hasOutbox = hasAccount || !self.outbox.isEmpty || !self.failures.isEmpty
        let form = hasAccount ? Self.formWithAccount : hasOutbox ? Self.formWithOutbox : Self.form
        writer.byte(hasTokens ? Self.formWithTokens : hasMessages ? Self.formWithMessages : form)
        writer.byte(self.proof.rawValue << 1 | (self.isEnded ? 1 : 0))
        writer.number(UInt64(self.epoch))
        writer.list(self.history) { $0.fixed($1) }
        writer.optional(self.cursor) { $0.text($1) }
        writer.optional(self.syncedAt) { $0.date($1) }
        writer.age(self.restartedAt, commit)
        let earliest = self.entries.values.lazy.map(\.expiryHour).min() ?? 0
        writer.number(UInt64(earliest))
        writer.byId(self.entries) { writer, entry in
            writer.age(entry.commit, commit)
            writer.byte(entry.nonce)
            // The number 0 means that the entry has no expiry.
            writer.number(entry.expiryHour == .max ? 0 : UInt64(entry.expiryHour - earliest) + 1)
            writer.number(UInt64(entry.units))
        }
        writer.byId(self.deletions) { $0.age($1, commit) }
        writer.age(self.forgottenUpTo, commit)
        writer.list(self.marks) { writer, mark in
            writer.text(mark.consumer)
            writer.age(mark.commit, commit)
        }
        writer.optional(self.registration) { writer, registration in
            writer.text(registration.id)
            writer.data(registration.fingerprint)
            writer.date(registration.date)
        }
        writer.list(self.signOuts) { writer, order in
            writer.text(order.server)
            writer.text(order.authorization)
            writer.byte(order.isWhenChallenged ? 1 : 0)
            writer.optional(order.registration) { $0.text($1) }
        }
        guard hasOutbox else { return writer.bytes }
        writer.list(self.outbox) { $1.write(to: &$0, commit) }
        writer.list(self.failures) { $1.write(to: &$0) }
        guard hasAccount else { return writer.bytes }
        writer.optional(self.account) { $0.text($1) }
        writer.list(self.signOuts) { writer, order in writer.optional(order.account) { $0.text($1) } }
        func write(_ writer: inout ByteWriter, _ messages: EntryName) {
            writer.age(messages.commit, commit)
            writer.byte(messages.nonce)
        }
        if hasTokens {
            writer.optional(self.messages, write)
            writer.list(self.tokens) { $0.data($1) }
        } else if let messages = self.messages {
            write(&writer, messages)
        }
        return writer.bytes
    }

    /// Returns `nil` for bytes of an unknown format.
    init?(bytes: Data, _ commit: Int64) {
        var reader = ByteReader(bytes)
        guard let index = try? AccountIndex(&reader, commit) else { return nil }
        self = index
    }

    private init(_ reader: inout ByteReader, _ commit: Int64) throws {
        let form = try reader.byte()
        guard (Self.form...Self.formWithTokens).contains(form) else { throw ByteReader.Malformed() }
        let flags = try reader.byte()
        guard let proof = Proof(rawValue: flags >> 1), let epoch = UInt32(exactly: try reader.number()) else {
            throw ByteReader.Malformed()
        }
        self.init(proof: proof, epoch: epoch, isEnded: flags & 1 != 0)
        self.history = try reader.list { try $0.fixed() }
        self.cursor = try reader.optional { try $0.text() }
        self.syncedAt = try reader.optional { try $0.date() }
        self.restartedAt = try reader.age(commit)
        let earliest = try reader.number()
        self.entries = try reader.byId { reader in
            let (commit, nonce, hours) = try (reader.age(commit), reader.byte(), reader.number())
            // A sum that is too large comes from damaged bytes.
            let expiryHour = hours == 0 ? UInt32.max : UInt32(clamping: earliest &+ (hours - 1))
            let units = UInt16(clamping: try reader.number())
            return Entry(commit: commit, nonce: nonce, expiryHour: expiryHour, units: units)
        }
        self.deletions = try reader.byId { try $0.age(commit) }
        self.forgottenUpTo = try reader.age(commit)
        self.marks = try reader.list { try Mark(consumer: $0.text(), commit: $0.age(commit)) }
        self.registration = try reader.optional {
            try StoredRegistration(id: $0.text(), fingerprint: $0.data(), date: $0.date())
        }
        self.signOuts = try reader.list { reader in
            try SignOutOrder(
                server: reader.text(),
                authorization: reader.text(),
                isWhenChallenged: reader.byte() == 1,
                registration: reader.optional { try $0.text() },
                account: nil
            )
        }
        guard form >= Self.formWithOutbox else { return }
        self.outbox = try reader.list { try OutboxTask(&$0, commit) }
        self.failures = try reader.list { try Outbox.Failure(&$0) }
        guard form >= Self.formWithAccount else { return }
        self.account = try reader.optional { try $0.text() }
        let accounts = try reader.list { reader in try reader.optional { try $0.text() } }
        self.signOuts = zip(self.signOuts, accounts).map { $0.of($1) }
        if form == Self.formWithMessages {
            self.messages = try EntryName(messagesOf: reader.age(commit), nonce: reader.byte())
        } else if form == Self.formWithTokens {
            self.messages = try reader.optional { try EntryName(messagesOf: $0.age(commit), nonce: $0.byte()) }
            for token in try reader.list({ try $0.data() }) { self.add(token: token) }
        }
    }
}
