internal import Foundation

/// The names of all metrics; `docs/operations.md` describes them.
package enum MetricName: String, CaseIterable, Sendable {
    case startTime = "sealpost_start_time_seconds"
    case deliveries = "sealpost_deliveries_total"
    case pending = "sealpost_deliveries_pending"
    case scheduled = "sealpost_scheduled_notifications"
    case scheduledLateness = "sealpost_scheduled_overdue_seconds"
    case resting = "sealpost_lane_paused"
    case pauses = "sealpost_lane_pauses_total"
    case eventsDelivered = "sealpost_events_delivered_total"
    case eventFailures = "sealpost_event_message_failures_total"
    case eventsDropped = "sealpost_events_dropped_total"
    case eventsPaused = "sealpost_events_paused"
    case eventsWaiting = "sealpost_events_waiting"
    case eventsOldest = "sealpost_events_oldest_waiting_seconds"
    case auditEntries = "sealpost_audit_entries_total"
    case credentialExpiry = "sealpost_credential_expiry_timestamp_seconds"
    case writesWaiting = "sealpost_writes_waiting"
    case receiptsWaiting = "sealpost_receipts_waiting"
    case receiptsDropped = "sealpost_receipts_dropped_total"
    case rowsSetAside = "sealpost_damaged_rows_total"
    case checkpointFailures = "sealpost_checkpoint_failures_total"
    case logBytes = "sealpost_write_ahead_log_bytes"
    case identityIgnored = "sealpost_identity_header_ignored_total"
    case signIns = "sealpost_sign_ins_total"
    case requestsLimited = "sealpost_requests_limited_total"
    case logLinesDropped = "sealpost_log_lines_dropped_total"
    case connections = "sealpost_connections"
    case connectionsRefused = "sealpost_connections_refused_total"
    case connectionsEvicted = "sealpost_connections_evicted_total"

    var help: String {
        switch self {
        case .startTime: "Start time of the server, in seconds since 1970."
        case .deliveries: "Pushes by lane and state: enqueued, accepted, expired, failed, cancelled."
        case .pending: "Pushes that are not settled yet, by lane."
        case .scheduled: "Notifications that wait for their SendAt."
        case .scheduledLateness:
            "Time since the SendAt of the oldest notification that is still to be sent; 0 if none is due."
        case .resting: "1 while the lane is paused because its provider is down, asks for a rest or refuses us."
        case .pauses: "Pauses of the lane since the start, by cause."
        case .eventsDelivered: "Events that the receiver has acknowledged since the start."
        case .eventFailures: "Messages with events that the receiver has not acknowledged since the start."
        case .eventsDropped: "Events deleted for their age since the start before the receiver had acknowledged them."
        case .eventsPaused: "1 while events rest because their receiver is down, asks for a rest or refuses them."
        case .eventsWaiting: "Events that wait for the receiver."
        case .eventsOldest: "Age of the oldest event that waits for the receiver, in seconds; 0 if none waits."
        case .auditEntries: "Audit entries written since the database was created."
        case .credentialExpiry: "Expiry time of a credential, in seconds since 1970."
        case .writesWaiting: "Writes in the write queue."
        case .receiptsWaiting: "Fetch receipts in the receipt queue."
        case .receiptsDropped: "Fetch receipts dropped because the queue was full."
        case .rowsSetAside: "Damaged database rows that were skipped."
        case .checkpointFailures: "Database checkpoints that failed."
        case .logBytes: "Size of the write-ahead log, in bytes."
        case .identityIgnored:
            "Requests whose identity header was ignored because they did not come from a trusted proxy."
        case .signIns: "Credential checks that missed the cache, by result."
        case .requestsLimited: "Requests refused by the rate limit, by role."
        case .logLinesDropped: "Log lines dropped because standard error was blocked."
        case .connections: "Open connections."
        case .connectionsRefused: "Connections refused by maxConnections or maxConnectionsPerAddress."
        case .connectionsEvicted: "Idle connections closed to make room for new ones."
        }
    }

    var kind: String {
        switch self {
        case .deliveries, .pauses, .eventsDelivered, .eventFailures, .eventsDropped, .auditEntries, .identityIgnored,
            .signIns, .requestsLimited, .receiptsDropped,
            .rowsSetAside,
            .checkpointFailures, .logLinesDropped, .connectionsRefused, .connectionsEvicted:
            "counter"
        case .startTime, .pending, .scheduled, .scheduledLateness, .resting, .eventsPaused, .eventsWaiting,
            .eventsOldest,
            .credentialExpiry, .writesWaiting, .receiptsWaiting, .logBytes,
            .connections:
            "gauge"
        }
    }
}

/// One value of a metric.
package struct MetricSample: Sendable, Hashable {
    package let name: MetricName
    /// Names and values; the names are fixed, the values from the configuration.
    package let labels: [[String]]
    package let value: Double

    package init(_ name: MetricName, _ labels: KeyValuePairs<String, String>, _ value: Double) {
        self.name = name
        self.labels = labels.map { [$0.key, $0.value] }
        self.value = value
    }

    /// A line of Prometheus' text format 0.0.4.
    fileprivate var line: String {
        let labels = self.labels.map { "\($0[0])=\"\(Self.escaped($0[1]))\"" }.joined(separator: ",")
        // Whole numbers have no decimal point, because they are counts.
        let value = Int(exactly: self.value).map(String.init) ?? "\(self.value)"
        return "\(self.name.rawValue)\(labels.isEmpty ? "" : "{\(labels)}") \(value)\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

extension Collection<MetricSample> {
    /// All samples in Prometheus' text format 0.0.4, grouped by metric.
    var exposition: String {
        MetricName.allCases.map { name in
            let lines = self.filter { $0.name == name }.map(\.line).sorted()
            if lines.isEmpty { return "" }
            return "# HELP \(name.rawValue) \(name.help)\n# TYPE \(name.rawValue) \(name.kind)\n" + lines.joined()
        }.joined()
    }
}
