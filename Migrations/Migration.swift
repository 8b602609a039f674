internal import Cryptography
package import Foundation

/// One step of the database's schema; a step that was released never changes.
package struct Migration: Sendable {
    /// Recorded in the database, so that each step runs once.
    package let name: String
    package let sql: String
    /// The migration that a program must know at least to use a database that has had this one: its own name, unless the step
    /// only adds what older programs do without.
    package let oldestKnown: String

    package init(name: String, sql: String, oldestKnown: String? = nil) {
        self.name = name
        self.sql = sql
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
    ]

    /// All steps of a PostgreSQL database, in order.
    package static let allPostgreSQL = [
        Migration(name: "P0001_initial", sql: String(decoding: PackageResources.P0001_initial_sql, as: UTF8.self)),
        // Servers without day keys go on beside it until those with them begin to seal, which raises what must be known.
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
        // Servers of before go on beside it: they share no handle, and of the accounts that share one they retire one alone
        // when it moves.
        Migration(
            name: "P0005_shared",
            sql: String(decoding: PackageResources.P0005_shared_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Servers of before go on beside it: what they register belongs to no session, and what they end takes no device along.
        Migration(
            name: "P0006_device_session",
            sql: String(decoding: PackageResources.P0006_device_session_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Servers of before go on beside it: they do not tell which keys they have, and count as having the one that they seal
        // with.
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
        // Servers of the version before compare no owner, and keep the newest iat in memory only.
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
        // Servers of the version before refuse viewers. The operator makes the first viewer after all servers are replaced.
        Migration(
            name: "P0012_viewer",
            sql: String(decoding: PackageResources.P0012_viewer_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
        // Servers of the version before enqueue no looks. A look that waits when its device registers elsewhere is sent as a
        // notification by such a server, so the operator sets `lookInterval` after all servers are replaced.
        Migration(
            name: "P0013_look",
            sql: String(decoding: PackageResources.P0013_look_sql, as: UTF8.self),
            oldestKnown: "P0001_initial"
        ),
    ]

    /// The step of a PostgreSQL database from which on processes tell each other which data keys they have.
    package static let sharedKeys = "P0007_shared_keys"

    /// The step of a PostgreSQL database that a program must know to open payloads that are sealed with day keys.
    package static let dayKeys = "P0002_day_keys"

    /// SHA-256 of its SQL.
    package var hash: Data { Data(SHA256.hash(data: Data(self.sql.utf8))) }
}
