internal import PushStore

extension MovedTable {
    /// The statement that selects the table's rows, in PostgreSQL's form, in the order of its key;
    /// `nil` for the tables whose rows the source computes. `:reserved` is greater than all
    /// numbers of changes.
    var selection: String? {
        guard let place = Self.places[self.name] else { return nil }
        let columns = self.columns.map { column in
            place.values[column.name].map { "\($0) as \(column.name)" } ?? "t.\(column.name)"
        }
        let key = (1...self.keyLength).map(String.init).joined(separator: ", ")
        return "select \(columns.joined(separator: ", ")) from \(place.rows) order by \(key)"
    }

    /// The SQL that gives a table's rows, and the SQL of each value that is not simply the
    /// source's column of the same name.
    private struct Place {
        let rows: String
        var values: [String: String] = [:]
    }

    /// A notification's place in the order of notifications, which SQLite counts in changes and
    /// PostgreSQL in microseconds. Moved notifications keep their order, and come before all that
    /// are stored after the move.
    private static let sequence = "t.sequence - :reserved"

    private static let places: [String: Place] = [
        "data_key": Place(rows: "data_key t"),
        "index_secret": Place(rows: "index_secret t"),
        "account": Place(rows: "user t"),
        // Each user gets the numbers of one who has seen the newest change: a client may have a
        // cursor with any assigned number.
        "user_change": Place(
            rows: "user t",
            values: [
                "user_id": "t.id",
                "change": "max(:reserved, coalesce((select max(change) from recipient where user_id = t.id), 0))",
            ]
        ),
        "user_tag": Place(rows: "user_tag t"),
        "token": Place(rows: "token t"),
        // SQLite has no `session_at`: its server stores session and `registered_at` together, so
        // both times are equal.
        "device": Place(
            rows: "device t",
            values: ["session_at": "case when t.session is null then null else t.registered_at end"]
        ),
        "device_tag": Place(rows: "device_tag t"),
        "device_push": Place(rows: "device_push t"),
        "confirmation": Place(rows: "confirmation t"),
        "notification": Place(rows: "notification t", values: ["sequence": Self.sequence]),
        // SQLite stores the change number of a recall from many recipients once, with the
        // notification; PostgreSQL stores it with each recipient.
        "recipient": Place(
            rows: "recipient t left join notification n on n.id = t.notification_id",
            values: [
                "change": "coalesce(n.recall_change, t.change)",
                "changed_at": "case when n.recall_change is null then t.changed_at else n.recalled_at end",
            ]
        ),
        "untaken": Place(rows: "untaken t"),
        "usage": Place(rows: "usage t"),
        "idempotency": Place(rows: "idempotency t"),
        "scheduled": Place(rows: "scheduled t", values: ["sequence": Self.sequence]),
        "fanout": Place(rows: "fanout t"),
        // Pushes that were being sent when the last process ended are moved as waiting pushes:
        // nobody leases them any more.
        "push": Place(rows: "delivery t where t.settled_at is null"),
        "push_end": Place(rows: "delivery t where t.settled_at is not null"),
        "collapse": Place(rows: "collapse t", values: ["sequence": Self.sequence]),
        "tally": Place(rows: "tally t", values: ["writer": "0"]),
        "audit": Place(rows: "audit t", values: ["link": "t.chain"]),
        "event": Place(rows: "event t"),
        "event_state": Place(
            rows: "event_state t",
            values: ["newest": "coalesce((select max(number) from event), 0)"]
        ),
    ]
}
