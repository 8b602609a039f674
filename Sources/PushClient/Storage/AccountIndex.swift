internal import Foundation

/// What is kept of an account, but for the contents of notifications: one value, so that none of
/// it is ever without the rest.
///
/// It is small, whatever is kept: its sealed form fits in 64 KiB.
struct AccountIndex: Sendable, Hashable {
    /// What the answers were believed for.
    enum Proof: UInt8 {
        case echoed, signed
    }

    /// A notification that is kept.
    struct Entry: Sendable, Hashable {
        /// The commit that wrote its file, which is that of its last change.
        let commit: Int64
        var nonce: UInt8
        /// The hour since 1970 in which it ends.
        let expiryHour: UInt32
        /// The size of its content, in 256 bytes.
        let units: UInt16
    }

    struct Mark: Sendable, Hashable {
        let consumer: String
        let commit: Int64
    }

    var proof: Proof
    /// One more after each sign-out: a client of before keeps nothing any more.
    var epoch: UInt32
    /// Whether the account was signed out, and nothing has begun anew.
    var isEnded = false
    /// The names of the last commits, the latest first: whether one was made upon another.
    var history: [UInt64] = []

    /// `nil` before the first page, and after a file was lost: then all is fetched.
    var cursor: String?
    /// When the inbox was last known to be complete, by the device's clock; `nil` while it is not.
    var completeAt: Date?
    /// The commit in which the list last began anew.
    var restartedAt: Int64 = 0
    var entries: [Int64: Entry] = [:]
    /// The commit in which each was deleted.
    var deletions: [Int64: Int64] = [:]
    /// The commit up to which deletions are no longer known.
    var forgottenUpTo: Int64 = 0
    /// Up to where consumers have taken the changes, the latest last.
    var marks: [Mark] = []

    /// The identifier of the account, which the server's answers must have; `nil` while it is not
    /// known.
    var account: String?
    var registration: KeptRegistration?
    /// Sign-outs that the server does not know yet.
    var signOuts: [SignOutOrder] = []

    /// What waits to be told to the server, in its order.
    var outbox: [OutboxTask] = []
    /// What was given up of it, and the app has not forgotten.
    var failures: [Outbox.Failure] = []

    /// One that knows nothing of the commits before.
    static func empty(_ proof: Proof, epoch: UInt32, after commit: Int64) -> AccountIndex {
        AccountIndex(proof: proof, epoch: epoch, forgottenUpTo: commit)
    }

    /// The same device without its notifications, which were believed for less, or cannot be read.
    func withoutEntries(_ proof: Proof, after commit: Int64) -> AccountIndex {
        var index = AccountIndex.empty(proof, epoch: self.epoch, after: commit)
        index.history = self.history
        index.marks = self.marks
        index.account = self.account
        index.registration = self.registration
        index.signOuts = self.signOuts
        index.outbox = self.outbox
        index.failures = self.failures
        return index
    }

    /// What the next session begins with.
    func begunAnew(_ proof: Proof, after commit: Int64) -> AccountIndex {
        var index = AccountIndex.empty(proof, epoch: self.epoch &+ 1, after: commit)
        index.history = self.history
        index.signOuts = self.signOuts
        return index
    }

    func name(of id: Int64) -> EntryName? {
        self.entries[id].map { EntryName(id: id, commit: $0.commit, nonce: $0.nonce) }
    }

    /// All files that it names.
    var files: [EntryName] { self.names + self.outbox.compactMap(\.payload) }

    var names: [EntryName] {
        self.entries.map { EntryName(id: $0.key, commit: $0.value.commit, nonce: $0.value.nonce) }
    }
}

/// What it takes to end a session and its device at the server later.
struct SignOutOrder: Sendable, Hashable {
    let server: String
    /// Empty if nobody has had a token that is good: the next session of the account then ends the
    /// device.
    var authorization: String
    /// Whether the server is shown that only after a challenge.
    let isWhenChallenged: Bool
    let registration: String?
    /// The identifier of the account: answers for others do not count. `nil` where it was not
    /// known.
    let account: String?

    /// The same order of an account.
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
