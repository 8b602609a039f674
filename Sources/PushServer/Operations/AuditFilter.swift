internal import Foundation
internal import PushAPI
internal import PushCore

/// The filter of an audit search: a period, a user, an action, and words that an entry must
/// contain.
struct AuditFilter: Sendable {
    /// The action of the entries, such as `user.add`. The part before the dot, such as `user`,
    /// stands for all actions that begin with it.
    private let action: String?
    /// Words in lower case; the entry must contain each of them.
    private let words: [[UInt8]]
    /// The actor or the subject of the entries.
    private let user: Username?
    /// The time of the oldest entry.
    private let since: Date?

    /// Reads the filter from the parameters `action`, `words`, `user` and `since`. Returns `nil`
    /// if the query lacks all of them.
    init?(_ query: Query, now: Date) throws(Problem) {
        self.action = try query["action"]
        self.since = try query.beginning("since", now: now)
        let (text, name) = (try query["words"], try query["user"])
        self.user = name.flatMap { Username($0) }
        if self.action == nil, self.since == nil, text == nil, name == nil { return nil }
        if name != nil, self.user == nil { throw Problem(.invalidParameter, "user must be a user name") }
        self.words = (text ?? "").split(whereSeparator: \.isWhitespace).map { Array($0.lowercased().utf8) }
        if let text, self.words.isEmpty || text.unicodeScalars.count > Self.longest {
            throw Problem(
                .invalidParameter,
                "words must have at least one word, and at most \(Self.longest) characters"
            )
        }
        if let action, !Self.actions.contains(action) {
            throw Problem(
                .invalidParameter,
                "action must be an action of the audit, such as user.add, or a kind, such as user"
            )
        }
    }

    /// A search for matching entries with lower numbers than `number`.
    func scan(before number: Int64?, limit: Int) -> ListScan<AuditEntry, Int64> {
        ListScan(
            after: number,
            limit: limit,
            place: \.number,
            size: \.subject.utf8.count,
            // An entry gets its number at the commit, and its time before. So an entry may be a
            // little older than an entry with a lower number.
            until: { [since] entry in since.map { entry.at < $0 - Self.longestCommit } ?? false },
            where: self.admits
        )
    }

    func admits(_ entry: AuditEntry) -> Bool {
        if let since, entry.at < since { return false }
        if let action, entry.action != action, entry.kind != action { return false }
        if let user, !entry.concerns(user) { return false }
        if self.words.isEmpty { return true }
        let fields = [
            entry.action, entry.subject, entry.detail, entry.actor, entry.token, entry.client, entry.request,
        ]
        // The fields are joined by line breaks. No word contains a line break, so a match never
        // spans two fields.
        let text = Array(fields.joined(separator: "\n").lowercased().utf8)
        return self.words.allSatisfy { Self.find($0, in: text) }
    }

    // MARK: - Private

    private static let longest = 200
    /// More than the seconds between the time of an entry and its commit.
    private static let longestCommit = 60.0

    /// The names of all actions, and the parts of the names before the dot.
    private static let actions: Set<String> = {
        let actions = AuditRecord.Action.allCases.map(\.rawValue)
        return Set(actions + actions.map { String($0.prefix { $0 != "." }) })
    }()

    private static func find(_ word: [UInt8], in text: [UInt8]) -> Bool {
        guard let first = word.first else { return true }
        var rest = text[...]
        while let place = rest.firstIndex(of: first) {
            rest = rest[place...]
            if rest.starts(with: word) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}

extension AuditEntry {
    /// The part of the action before the dot.
    var kind: Substring { self.action.prefix { $0 != "." } }

    /// Whether the user is the actor, the subject, or the owner of the device that is the subject.
    fileprivate func concerns(_ user: Username) -> Bool {
        if Username(self.actor) == user { return true }
        switch self.kind {
        case "user", "session", "token": return Username(self.subject) == user
        case "device":
            // The detail ends with the owner if the owner is not the actor: `of alice`, `from
            // alice`, or only `alice` for a test.
            let words = self.detail.split(separator: " ").suffix(2).map(String.init)
            guard let last = words.last, Username(last) == user else { return false }
            return words.count == 1
                ? self.action == AuditRecord.Action.testDevice.rawValue : ["of", "from"].contains(words[0])
        default: return false
        }
    }
}
