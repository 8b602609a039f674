internal import Foundation

/// The state of an account, except for the contents of notifications. It is one value, so that its
/// parts always agree.
///
/// Its encrypted form has at most 64 KiB, however many notifications are cached.
struct AccountIndex: Sendable, Hashable {
    /// How the answers with the stored data were authenticated.
    enum Proof: UInt8 {
        case echoed, signed
    }

    /// A cached notification.
    struct Entry: Sendable, Hashable {
        /// The commit that last changed the notification and wrote its file.
        let commit: Int64
        var nonce: UInt8
        /// When the notification expires, in whole hours since 1970.
        let expiryHour: UInt32
        /// The size of the notification's content, in units of 256 bytes.
        let units: UInt16
    }

    struct Mark: Sendable, Hashable {
        let consumer: String
        let commit: Int64
    }

    var proof: Proof
    /// The number of the sign-in, which grows by one with each sign-out. Clients created before a
    /// sign-out store nothing after it.
    var epoch: UInt32
    /// Whether the account was signed out and no new session has begun.
    var isEnded = false
    /// The random names of the last commits, latest first. They show whether a commit is based on
    /// a certain earlier commit.
    var history: [UInt64] = []

    /// The cursor of the next sync. `nil` before the first page, and after a file was lost: the
    /// next sync then fetches everything.
    var cursor: String?
    /// When the inbox was last known to be complete, by the device's clock; `nil` while it is
    /// incomplete.
    var syncedAt: Date?
    /// The last commit that began the inbox again, with a sync from the start.
    var restartedAt: Int64 = 0
    var entries: [Int64: Entry] = [:]
    /// For each deleted id, the commit that deleted it.
    var deletions: [Int64: Int64] = [:]
    /// The last commit whose deletions are no longer in `deletions`.
    var forgottenUpTo: Int64 = 0
    /// The last commit that each consumer has confirmed; the latest confirmation is the last
    /// element.
    var marks: [Mark] = []

    /// The account id that the server's answers must have; `nil` while it is unknown.
    var account: String?
    /// The digests of the account's last tokens, the latest at the end. By these a client whose
    /// app gives no account id recognises its data.
    private(set) var tokens: [Data] = []
    var registration: StoredRegistration?
    /// Sign-outs that the server does not know yet.
    var signOuts: [SignOutOrder] = []

    /// The tasks that wait for the server, in the order in which they are sent.
    var outbox: [OutboxTask] = []
    /// The tasks that the client gave up and the app has not discarded yet.
    var failures: [Outbox.Failure] = []

    /// The file with the ids of opened end-to-end messages; `nil` before the first message.
    var messages: EntryName?

    /// Returns an empty index, in which the deletions of all commits up to `commit` count as
    /// forgotten.
    static func empty(_ proof: Proof, epoch: UInt32, after commit: Int64) -> AccountIndex {
        AccountIndex(proof: proof, epoch: epoch, forgottenUpTo: commit)
    }

    /// Returns the index without its notifications, for use if they are not authenticated as
    /// `proof` says, or cannot be read.
    func withoutEntries(_ proof: Proof, after commit: Int64) -> AccountIndex {
        var index = AccountIndex.empty(proof, epoch: self.epoch, after: commit)
        index.history = self.history
        index.marks = self.marks
        index.account = self.account
        index.tokens = self.tokens
        index.registration = self.registration
        index.signOuts = self.signOuts
        index.outbox = self.outbox
        index.failures = self.failures
        index.messages = self.messages
        return index
    }

    /// The index that the next session begins with.
    func restarted(_ proof: Proof, after commit: Int64) -> AccountIndex {
        var index = AccountIndex.empty(proof, epoch: self.epoch &+ 1, after: commit)
        index.history = self.history
        index.signOuts = self.signOuts
        return index
    }

    /// Records that a token belongs to the account.
    mutating func add(token: Data) {
        // The app and its extensions may have a token each.
        if !self.tokens.contains(token) { self.tokens = self.tokens.suffix(3) + [token] }
    }

    func name(of id: Int64) -> EntryName? {
        self.entries[id].map { EntryName(id: id, commit: $0.commit, nonce: $0.nonce) }
    }

    /// All files that the index names.
    var files: [EntryName] { self.names + self.outbox.compactMap(\.payload) + [self.messages].compactMap(\.self) }

    var names: [EntryName] {
        self.entries.map { EntryName(id: $0.key, commit: $0.value.commit, nonce: $0.value.nonce) }
    }
}

/// An order to end a session and its registration at the server later.
struct SignOutOrder: Sendable, Hashable {
    let server: String
    /// The value of the field `Authorization`; empty if there was no valid token: the next session
    /// of the account then ends the registration.
    var authorization: String
    /// Whether the client sends `authorization` only after a challenge.
    let isWhenChallenged: Bool
    let registration: String?
    /// The account id: the client ignores answers for other accounts. `nil` if the id was unknown.
    let account: String?

    /// Returns this order with an account id.
    func of(_ account: String?) -> SignOutOrder {
        SignOutOrder(
            server: self.server,
            authorization: self.authorization,
            isWhenChallenged: self.isWhenChallenged,
            registration: self.registration,
            account: account
        )
    }
}
