internal import PushAPI
internal import PushCore
internal import PushStore

/// The filter of an audit search: an action, and words that an entry must contain.
struct AuditFilter: Sendable {
    /// The action of the entries, such as `user.add`. The part before the dot, such as `user`,
    /// stands for all actions that begin with it.
    private let action: String?
    /// Words in lower case; the entry must contain each of them.
    private let words: [[UInt8]]

    /// Reads the filter from the parameters `action` and `words`. Returns `nil` if the query has
    /// neither.
    init?(_ query: Query) throws(Problem) {
        self.action = try query["action"]
        let text = try query["words"]
        if self.action == nil, text == nil { return nil }
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
            where: self.admits
        )
    }

    func admits(_ entry: AuditEntry) -> Bool {
        if let action, entry.action != action, entry.action.prefix(while: { $0 != "." }) != action { return false }
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
