extension MovedTable {
    /// All tables that a move fills, in the order of the move.
    package static let all: [MovedTable] = Self.keys + Self.accounts + Self.notifications + Self.outbox + Self.records

    /// Tables that already have rows if a server was started on the empty target, even if the
    /// server has stored nothing. A move first deletes these rows.
    package static let ofEmptyStores: Set<String> = ["data_key", "index_secret", "event", "event_state"]

    private typealias C = Column

    private static let keys = [
        MovedTable("data_key", key: C.integers("number"), C.bytes("check_value") + C.integers("used_at", "seals")),
        MovedTable("index_secret", key: C.integers("id"), C.bytes("secret")),
    ]

    private static let accounts = [
        MovedTable(
            "account",
            key: C.integers("id"),
            C.bytes("name", "name_key", "tags", "issued_to")
                + C.texts("role", "password", "apps", "issued_role", "issued_apps", "issued_scopes")
                + C.integers("password_number", "created_at", "disabled_at", "issued_at")
                + C.booleans("requires_encryption")
        ),
        MovedTable("user_change", key: C.integers("user_id"), C.integers("change")),
        MovedTable("user_tag", key: C.integers("user_id") + C.bytes("tag")),
        MovedTable(
            "token",
            key: C.bytes("hash"),
            C.texts("prefix", "scopes") + C.booleans("is_session", "is_vouched")
                + C.integers("user_id", "created_at", "expires_at", "used_at", "mac")
        ),
        MovedTable(
            "device",
            key: C.integers("number"),
            C.texts("id", "platform", "lane", "retired_reason", "moved_platform", "session", "encryption_key")
                + C.bytes("handle", "handle_key", "tags")
                + C.integers("user_id", "created_at", "registered_at", "retired_at", "claims_for", "environment_moves")
                + C.integers("session_at", "look_id", "look_at") + C.booleans("is_shared")
        ),
        MovedTable("device_tag", key: C.integers("device") + C.bytes("tag")),
        MovedTable("device_push", key: C.integers("device"), C.integers("accepted_at")),
        MovedTable(
            "confirmation",
            key: C.bytes("handle_key"),
            C.integers("user_id", "notification_id", "pushed_at", "failures") + C.booleans("is_used")
        ),
    ]

    private static let notifications = [
        MovedTable(
            "notification",
            key: C.integers("id"),
            C.integers("sender_id", "sequence", "seed", "created_at", "expires_at", "recalled_at", "look_user_id")
                + C.texts("app", "priority", "collapse_id")
                + C.booleans("is_stored_by_clients", "is_read_once", "is_end_to_end")
                + C.bytes("alert", "payload"),
            // A page of this table has few rows, since one payload may have 1 MiB.
            pageRows: 250
        ),
        MovedTable(
            "recipient",
            key: C.integers("notification_id", "user_id"),
            C.integers("fetched_at", "read_at", "dismissed_at", "change", "changed_at", "mac")
        ),
        MovedTable("untaken", key: C.integers("notification_id", "user_id"), C.integers("leased_until")),
        MovedTable("usage", key: C.integers("user_id"), C.integers("notifications", "bytes")),
        MovedTable(
            "idempotency",
            key: C.bytes("key"),
            C.bytes("request") + C.integers("notification_id", "created_at", "expires_at", "recipients", "pushes")
        ),
    ]

    private static let outbox = [
        MovedTable(
            "scheduled",
            key: C.integers("notification_id"),
            C.integers("due_at", "sequence") + C.bytes("expressions") + C.texts("platforms")
                + C.booleans("is_set_aside")
        ),
        MovedTable(
            "fanout",
            key: C.integers("notification_id"),
            C.integers("branch", "cursor") + C.bytes("expressions") + C.texts("platforms") + C.booleans("is_set_aside")
        ),
        MovedTable(
            "push",
            key: C.integers("notification_id", "device"),
            C.integers("user_id", "attempts", "due_at") + C.texts("lane", "reason")
                + C.booleans("is_bulk", "is_withdrawn")
        ),
        MovedTable(
            "push_end",
            key: C.integers("notification_id", "device"),
            C.integers("user_id", "attempts", "settled_at") + C.texts("lane", "state", "reason", "provider_id")
                + C.booleans("is_bulk")
        ),
        MovedTable(
            "collapse",
            key: C.integers("device") + C.texts("collapse_id"),
            C.integers("notification_id", "sequence")
        ),
        MovedTable("tally", key: C.integers("writer") + C.texts("lane", "state"), C.integers("count")),
    ]

    private static let records = [
        MovedTable("audit", key: C.integers("number"), C.integers("at") + C.bytes("entry", "link")),
        MovedTable(
            "audit_chain",
            key: C.integers("chain"),
            C.integers("node", "number", "start_number") + C.bytes("link", "start_link", "start_mac", "mac")
        ),
        MovedTable(
            "event",
            key: C.integers("number"),
            C.integers("at", "kind", "notification_id", "device", "user_id", "sender_id")
                + C.texts("platform", "reason")
        ),
        MovedTable("event_state", key: C.integers("id"), C.integers("newest", "delivered", "trimmed")),
    ]
}
