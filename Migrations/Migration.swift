internal import Cryptography
package import Foundation

/// One step of the database's schema. Only comments of a released step may change.
package struct Migration: Sendable {
    /// Recorded in the database, so that each step runs once.
    package let name: String
    package let sql: String
    /// The newest migration that a program must know to use a database with this one: itself,
    /// unless the step only adds parts that older programs do not need.
    package let oldestKnown: String
    /// The hash that databases record: SHA-256 of the SQL without its comments, except for
    /// `recordedHashes`.
    package let hash: Data

    package init(name: String, sql: String, oldestKnown: String? = nil) {
        self.name = name
        self.sql = sql
        let hash = Data(SHA256.hash(data: Data(sql.withoutComments.utf8)))
        self.hash = Self.recordedHashes[hash.base64EncodedString()].flatMap { Data(base64Encoded: $0) } ?? hash
        self.oldestKnown = oldestKnown ?? name
    }

    /// All steps, in order.
    package static let all = [
        Migration(name: "M0001_initial", sql: String(decoding: PackageResources.M0001_initial_sql, as: UTF8.self)),
        Migration(name: "M0002_mac", sql: String(decoding: PackageResources.M0002_mac_sql, as: UTF8.self)),
        Migration(
            name: "M0003_payload_lease",
            sql: String(decoding: PackageResources.M0003_payload_lease_sql, as: UTF8.self)
        ),
        Migration(name: "M0004_user_tag", sql: String(decoding: PackageResources.M0004_user_tag_sql, as: UTF8.self)),
        Migration(
            name: "M0005_vouched_session",
            sql: String(decoding: PackageResources.M0005_vouched_session_sql, as: UTF8.self)
        ),
        Migration(
            name: "M0006_idempotent_reach",
            sql: String(decoding: PackageResources.M0006_idempotent_reach_sql, as: UTF8.self)
        ),
        Migration(
            name: "M0007_handle_claim",
            sql: String(decoding: PackageResources.M0007_handle_claim_sql, as: UTF8.self)
        ),
        Migration(name: "M0008_alert", sql: String(decoding: PackageResources.M0008_alert_sql, as: UTF8.self)),
        Migration(name: "M0009_scheduled", sql: String(decoding: PackageResources.M0009_scheduled_sql, as: UTF8.self)),
        Migration(name: "M0010_event", sql: String(decoding: PackageResources.M0010_event_sql, as: UTF8.self)),
        Migration(
            name: "M0011_environment",
            sql: String(decoding: PackageResources.M0011_environment_sql, as: UTF8.self)
        ),
        Migration(name: "M0012_app", sql: String(decoding: PackageResources.M0012_app_sql, as: UTF8.self)),
        Migration(name: "M0013_moved", sql: String(decoding: PackageResources.M0013_moved_sql, as: UTF8.self)),
        Migration(name: "M0014_shared", sql: String(decoding: PackageResources.M0014_shared_sql, as: UTF8.self)),
        Migration(
            name: "M0015_device_session",
            sql: String(decoding: PackageResources.M0015_device_session_sql, as: UTF8.self)
        ),
        Migration(name: "M0016_issued", sql: String(decoding: PackageResources.M0016_issued_sql, as: UTF8.self)),
        Migration(name: "M0017_failed", sql: String(decoding: PackageResources.M0017_failed_sql, as: UTF8.self)),
        Migration(name: "M0018_viewer", sql: String(decoding: PackageResources.M0018_viewer_sql, as: UTF8.self)),
        Migration(name: "M0019_look", sql: String(decoding: PackageResources.M0019_look_sql, as: UTF8.self)),
        Migration(
            name: "M0020_device_key",
            sql: String(decoding: PackageResources.M0020_device_key_sql, as: UTF8.self)
        ),
        Migration(
            name: "M0021_required_encryption",
            sql: String(decoding: PackageResources.M0021_required_encryption_sql, as: UTF8.self)
        ),
        Migration(
            name: "M0022_recall_look",
            sql: String(decoding: PackageResources.M0022_recall_look_sql, as: UTF8.self)
        ),
        Migration(
            name: "M0023_user_removal",
            sql: String(decoding: PackageResources.M0023_user_removal_sql, as: UTF8.self)
        ),
        Migration(
            name: "M0024_administrator",
            sql: String(decoding: PackageResources.M0024_administrator_sql, as: UTF8.self)
        ),
        Migration(name: "M0025_words", sql: String(decoding: PackageResources.M0025_words_sql, as: UTF8.self)),
        Migration(name: "M0026_triggers", sql: String(decoding: PackageResources.M0026_triggers_sql, as: UTF8.self)),
    ]

    /// All steps of a PostgreSQL database, in order.
    package static let allPostgreSQL = [
        Migration(name: "P0001_initial", sql: String(decoding: PackageResources.P0001_initial_sql, as: UTF8.self)),
        // Servers without day keys keep running until others encrypt with them, which raises
        // `oldest_known` in the database.
        Migration(
            name: Self.dayKeys,
            sql: String(decoding: PackageResources.P0002_day_keys_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        Migration(
            name: "P0003_shared_streams",
            sql: String(decoding: PackageResources.P0003_shared_streams_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        Migration(
            name: "P0004_lane_pause",
            sql: String(decoding: PackageResources.P0004_lane_pause_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Older servers keep running: they share no handle. If a shared handle moves, they retire
        // the device of only one user.
        Migration(
            name: "P0005_shared",
            sql: String(decoding: PackageResources.P0005_shared_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Older servers keep running: their registrations belong to no session, and a session that
        // they end retires no device.
        Migration(
            name: "P0006_device_session",
            sql: String(decoding: PackageResources.P0006_device_session_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Older servers keep running: they do not report their keys, and count as having only the
        // one that they encrypt with.
        Migration(
            name: Self.sharedKeys,
            sql: String(decoding: PackageResources.P0007_shared_keys_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        Migration(
            name: "P0008_push_pages",
            sql: String(decoding: PackageResources.P0008_push_pages_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        Migration(
            name: "P0009_recipient_keys",
            sql: String(decoding: PackageResources.P0009_recipient_keys_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Older servers keep running: they do not compare issuers' users, and keep the newest
        // `iat` in memory only.
        Migration(
            name: "P0010_issued",
            sql: String(decoding: PackageResources.P0010_issued_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        Migration(
            name: "P0011_failed",
            sql: String(decoding: PackageResources.P0011_failed_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Older servers keep running, and refuse viewers. So the operator adds the first viewer
        // after the upgrade of all.
        Migration(
            name: "P0012_viewer",
            sql: String(decoding: PackageResources.P0012_viewer_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Servers of the version before enqueue no looks. A look that waits when its device
        // registers elsewhere is sent as a notification by such a server, so the operator sets
        // `lookInterval` after all servers are replaced.
        Migration(
            name: "P0013_look",
            sql: String(decoding: PackageResources.P0013_look_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Servers of the version before leave the keys as they are, and hand out end-to-end
        // payloads with all wrapped keys.
        Migration(
            name: "P0014_device_key",
            sql: String(decoding: PackageResources.P0014_device_key_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Servers of the version before give clear payloads to all users, and mark no payload as
        // end-to-end. So the operator sets the first requirement after all servers are replaced.
        Migration(
            name: "P0015_required_encryption",
            sql: String(decoding: PackageResources.P0015_required_encryption_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Servers of the version before write the looks for their own recalls; a crash loses
        // these.
        Migration(
            name: "P0016_recall_look",
            sql: String(decoding: PackageResources.P0016_recall_look_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        Migration(
            name: "P0017_lookups",
            sql: String(decoding: PackageResources.P0017_lookups_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
    ]

    /// The step of a PostgreSQL database that lets servers report their data keys to each other.
    package static let sharedKeys = "P0007_shared_keys"

    /// The step of a PostgreSQL database that a program must know to decrypt payloads with day
    /// keys.
    package static let dayKeys = "P0002_day_keys"
}
