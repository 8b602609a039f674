internal import PushStore

extension MovedTable {
    /// The statement that selects the table's rows, in PostgreSQL's form, in the order of its key;
    /// `nil` for the table whose rows the source computes. `:reserved` is greater than all numbers
    /// of changes.
    var selection: String? {
        if self.name == "audit_chain" { return nil }
        let values = Self.values[self.name] ?? [:]
        let columns = self.columns.map { column in
            values[column.name].map { "\($0) as \(column.name)" } ?? "t.\(column.name)"
        }
        let key = (1...self.keyLength).map(String.init).joined(separator: ", ")
        return "select \(columns.joined(separator: ", ")) from \(Self.source(of: self.name)) order by \(key)"
    }

    /// The SQL that gives the rows of the table with this name.
    static func source(of name: String) -> String { Self.rows[name] ?? "\(name) t" }

    /// For each of these tables, the SQL that gives its rows. The rows of any other table come
    /// from the source's table of the same name.
    private static let rows = [
        "user_change": "account t",
        "recipient": "recipient t left join notification n on n.id = t.notification_id",
        // A push that was being sent when the last process ended is moved as a waiting push, since
        // no process is sending it any more.
        "push": "push t where t.settled_at is null",
        "push_end": "push t where t.settled_at is not null",
    ]

    /// The SQL for a notification's place in the order of notifications. In SQLite this is a
    /// change number, in PostgreSQL a time in microseconds. The difference is negative, so moved
    /// notifications keep their order, and come before all that are stored after the move.
    private static let sequence = "t.sequence - :reserved"

    /// The SQL of each value that is not simply the source's column of the same name.
    private static let values: [String: [String: String]] = [
        // Each user's change numbers continue after the highest number that any user's change has:
        // the server may already have told each client this number.
        "user_change": [
            "user_id": "t.id",
            "change": "max(:reserved, coalesce((select max(change) from recipient where user_id = t.id), 0))",
        ],
        // SQLite has no column `session_at`. Its store always writes the session and
        // `registered_at` together, so the two times are equal.
        "device": ["session_at": "case when t.session is null then null else t.registered_at end"],
        "notification": ["sequence": Self.sequence],
        // If a recall has many recipients, SQLite stores their change number once, with the
        // notification. PostgreSQL stores the number with each recipient.
        "recipient": [
            "change": "coalesce(n.recall_change, t.change)",
            "changed_at": "case when n.recall_change is null then t.changed_at else n.recalled_at end",
        ],
        "scheduled": ["sequence": Self.sequence],
        "collapse": ["sequence": Self.sequence],
        "tally": ["writer": "0"],
        "event_state": ["newest": "coalesce((select max(number) from event), 0)"],
    ]
}
