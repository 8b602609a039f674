internal import Foundation

/// The names of all metrics; `docs/operate/monitor.md` describes them.
package enum MetricName: String, CaseIterable, Sendable {
    case startTime = "sealpost_start_time_seconds"
    case build = "sealpost_build_info"
    case requests = "sealpost_requests_total"
    case requestTime = "sealpost_request_duration_seconds"
    case requestsRunning = "sealpost_requests_in_flight"
    case deliveries = "sealpost_deliveries_total"
    case pushTime = "sealpost_push_duration_seconds"
    case pushRetries = "sealpost_push_retries_total"
    case pending = "sealpost_deliveries_pending"
    case overdue = "sealpost_deliveries_overdue_seconds"
    case oldestPush = "sealpost_deliveries_oldest_seconds"
    case scheduled = "sealpost_scheduled_notifications"
    case scheduledLateness = "sealpost_scheduled_overdue_seconds"
    case lanePaused = "sealpost_lane_paused"
    case pauses = "sealpost_lane_pauses_total"
    case eventsDelivered = "sealpost_events_delivered_total"
    case eventFailures = "sealpost_event_message_failures_total"
    case eventsDropped = "sealpost_events_dropped_total"
    case eventsPaused = "sealpost_events_paused"
    case eventsWaiting = "sealpost_events_waiting"
    case eventsOldest = "sealpost_events_oldest_waiting_seconds"
    case auditEntries = "sealpost_audit_entries_total"
    case credentialExpiry = "sealpost_credential_expiry_timestamp_seconds"
    case credentialLifetime = "sealpost_credential_lifetime_seconds"
    case revocationListExpiry = "sealpost_revocation_list_expiry_timestamp_seconds"
    case issuerKeys = "sealpost_issuer_keys_read_timestamp_seconds"
    case clockAhead = "sealpost_clock_ahead_seconds"
    case writesWaiting = "sealpost_writes_waiting"
    case writes = "sealpost_writes_total"
    case commitTime = "sealpost_commit_duration_seconds"
    case syncTime = "sealpost_fsync_duration_seconds"
    case receiptsWaiting = "sealpost_receipts_waiting"
    case receiptsDropped = "sealpost_receipts_dropped_total"
    case rowsSetAside = "sealpost_damaged_rows_total"
    case checkpointFailures = "sealpost_checkpoint_failures_total"
    case logBytes = "sealpost_write_ahead_log_bytes"
    case fileBytes = "sealpost_database_bytes"
    case freeBytes = "sealpost_database_free_bytes"
    case servers = "sealpost_servers"
    case databaseConnections = "sealpost_database_connections"
    case databaseWaiting = "sealpost_database_waiting"
    case databaseOldestWait = "sealpost_database_oldest_wait_seconds"
    case databaseRetries = "sealpost_database_retries_total"
    case databaseConnectionsLost = "sealpost_database_connections_lost_total"
    case standbys = "sealpost_database_standbys"
    case standbyLag = "sealpost_database_standby_lag_bytes"
    case oldestDayKey = "sealpost_day_keys_oldest_timestamp_seconds"
    case lateDayKeys = "sealpost_day_keys_late"
    case identityIgnored = "sealpost_identity_header_ignored_total"
    case forwardedIgnored = "sealpost_forwarded_ignored_total"
    case signIns = "sealpost_sign_ins_total"
    case requestsLimited = "sealpost_requests_limited_total"
    case logLinesDropped = "sealpost_log_lines_dropped_total"
    case spansDropped = "sealpost_spans_dropped_total"
    case connections = "sealpost_connections"
    case connectionsRefused = "sealpost_connections_refused_total"
    case connectionsEvicted = "sealpost_connections_evicted_total"
    case longestTurn = "sealpost_loop_longest_turn_seconds"
    case processorTime = "process_cpu_seconds_total"
    case memory = "process_resident_memory_bytes"
    case descriptors = "process_open_fds"
    case descriptorLimit = "process_max_fds"

    var help: String {
        switch self {
        case .startTime: "Start time of the server, in seconds since 1970."
        case .build: "Always 1; the labels have the server's version and the commit that it was built from."
        case .requests: "Answers by route and status; the route is empty if the request matches none."
        case .requestTime: "Time from a request's head to the head of its answer, in seconds, by route."
        case .requestsRunning: "Requests that the server is answering."
        case .deliveries: "Pushes by lane and state: enqueued, accepted, expired, failed, cancelled."
        case .pushTime: "Time from the call of a provider to its answer, in seconds, by lane."
        case .pushRetries: "Failed attempts since the start that will be retried, by platform."
        case .pending: "Pushes that are not settled yet, by lane."
        case .overdue:
            "Time since the oldest due push that no server has leased became due, in seconds, by lane; 0 if none."
        case .oldestPush:
            "Age of the oldest push that is due or waits for a retry, in seconds, by lane; 0 if there is none."
        case .scheduled: "Notifications that wait for their SendAt, at most 100,000."
        case .scheduledLateness:
            "Time since the SendAt of the oldest due notification that is not sent yet, in seconds; 0 if none is due."
        case .lanePaused:
            "1 while the lane is paused because its provider is down, asks for a pause or refuses its pushes, else 0."
        case .pauses: "Pauses of the lane since the start, by cause."
        case .eventsDelivered: "Events that the receiver has acknowledged since the start."
        case .eventFailures:
            "Messages of events since the start that the receiver did not acknowledge; the server retries each."
        case .eventsDropped:
            "Events since the start that expired before the receiver acknowledged them; see events.keep."
        case .eventsPaused:
            "1 while events are paused because their receiver is down, asks for a pause or refuses them, else 0."
        case .eventsWaiting: "Events that the receiver has not acknowledged yet."
        case .eventsOldest:
            "Age of the oldest event that the receiver has not acknowledged yet, in seconds; 0 if there is none."
        case .auditEntries: "Audit entries written since the database was created."
        case .credentialExpiry: "Expiry time of a credential, in seconds since 1970."
        case .credentialLifetime:
            "Time from the start of a credential's validity to its end, in seconds, if it is known."
        case .revocationListExpiry:
            "Expiry time of the first list of server.tls.clientCRL, in seconds since 1970; then clients are refused."
        case .issuerKeys:
            "Time when the server last read the keys of signIn.oidc's issuer, in seconds since 1970; 0 if it never did."
        case .clockAhead: "Seconds by which the machine's clock is ahead and rejected; 0 while the server accepts it."
        case .writesWaiting: "Writes that wait in the write queue."
        case .writes: "Committed writes; writes that wait at the same time share a commit."
        case .commitTime:
            "Duration of commits, in seconds: mostly fsync; with PostgreSQL, of its server and replicas."
        case .syncTime: "Duration of fdatasync calls, in seconds, by the file of the database."
        case .receiptsWaiting: "Fetch receipts that wait in the receipt queue."
        case .receiptsDropped: "Fetch receipts dropped because the queue was full."
        case .rowsSetAside: "Damaged database rows that were skipped."
        case .checkpointFailures: "Database checkpoints that failed."
        case .logBytes: "Size of the write-ahead log, in bytes."
        case .fileBytes: "Size of the database's file, in bytes."
        case .freeBytes: "Free bytes of the database's file, which the server reuses."
        case .servers: "Servers that share the database and are alive."
        case .databaseConnections: "Open connections to the database."
        case .databaseWaiting:
            "Statements that wait for the database's answer, and transactions that wait for a connection."
        case .databaseOldestWait:
            "Time that the oldest statement or transaction has waited for the database, in seconds."
        case .databaseRetries: "Transactions and statements retried after a conflict or a lost connection."
        case .databaseConnectionsLost: "Lost connections to the database."
        case .standbys: "Replicas connected to the database's primary."
        case .standbyLag: "Bytes of the write-ahead log that the slowest replica has not stored yet."
        case .oldestDayKey: "Start of the oldest day whose day key this server still has, in seconds since 1970."
        case .lateDayKeys: "Day key files, of all servers, with keys that were not destroyed in time."
        case .identityIgnored:
            "Requests whose server.identityHeader was ignored because no trusted proxy sent them."
        case .forwardedIgnored:
            "Requests whose server.forwardedField was ignored because no trusted proxy sent them."
        case .signIns: "Checks of credentials that were not in the cache, by outcome."
        case .requestsLimited: "Requests refused because the user's quota was used up, by role."
        case .logLinesDropped:
            "Log lines dropped because the log's output (standard error or log.file) was blocked or full."
        case .spansDropped:
            "Spans dropped because the collector of tracing.endpoint did not accept them, or the queue was full."
        case .connections: "Open connections."
        case .connectionsRefused: "Connections refused because maxConnections or maxConnectionsPerAddress was reached."
        case .connectionsEvicted: "Idle connections closed to make room for new ones."
        case .longestTurn: "Longest turn of an event loop within the last one to two minutes, in seconds."
        case .processorTime: "Processor time that the process has used, in seconds."
        case .memory: "Resident memory of the process, in bytes."
        case .descriptors: "Open file descriptors of the process."
        case .descriptorLimit: "Largest number of file descriptors that the process may open."
        }
    }

    var kind: String {
        switch self {
        case .deliveries, .pushRetries, .pauses, .eventsDelivered, .eventFailures, .eventsDropped, .auditEntries,
            .identityIgnored, .forwardedIgnored,
            .signIns, .requestsLimited, .writes, .receiptsDropped, .rowsSetAside, .databaseRetries,
            .databaseConnectionsLost, .checkpointFailures, .logLinesDropped, .spansDropped, .connectionsRefused,
            .connectionsEvicted,
            .requests, .processorTime:
            "counter"
        case .requestTime, .pushTime, .commitTime, .syncTime: "histogram"
        case .startTime, .build, .requestsRunning, .memory, .descriptors, .descriptorLimit, .pending, .overdue,
            .oldestPush, .scheduled, .scheduledLateness, .lanePaused, .eventsPaused, .eventsWaiting,
            .eventsOldest, .credentialExpiry, .credentialLifetime, .revocationListExpiry, .issuerKeys, .clockAhead,
            .writesWaiting, .receiptsWaiting,
            .longestTurn, .logBytes, .fileBytes, .freeBytes, .servers, .databaseConnections, .databaseWaiting,
            .databaseOldestWait, .standbys, .standbyLag, .oldestDayKey, .lateDayKeys, .connections:
            "gauge"
        }
    }
}

/// One value of a metric.
package struct MetricSample: Sendable, Hashable {
    package let name: MetricName
    /// The labels, each as a name and a value. The names are fixed in the code; the set of values
    /// is limited by the configuration.
    package let labels: [[String]]
    package let value: Double
    /// The text that follows the metric's name, such as `_bucket` in the parts of a histogram.
    let suffix: String

    package init(
        _ name: MetricName,
        _ labels: KeyValuePairs<String, String>,
        _ value: Double
    ) {
        self.init(name, labels.map { [$0.key, $0.value] }, value, suffix: "")
    }

    init(_ name: MetricName, _ labels: [[String]], _ value: Double, suffix: String) {
        self.name = name
        self.labels = labels
        self.value = value
        self.suffix = suffix
    }

    /// A line of Prometheus' text format 0.0.4.
    fileprivate var line: String {
        let labels = self.labels.map { "\($0[0])=\"\(Self.escaped($0[1]))\"" }.joined(separator: ",")
        // Whole numbers are written without a decimal point, because most of them are counts.
        let value = Int(exactly: self.value).map(String.init) ?? "\(self.value)"
        return "\(self.name.rawValue)\(self.suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(value)\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

extension Collection<MetricSample> {
    /// All samples in Prometheus' text format 0.0.4, grouped by metric.
    var exposition: String {
        MetricName.allCases.map { name in
            let samples = self.filter { $0.name == name }.map(\.line)
            // The buckets of a histogram are in the order of their bounds.
            let lines = name.kind == "histogram" ? samples : samples.sorted()
            if lines.isEmpty { return "" }
            return "# HELP \(name.rawValue) \(name.help)\n# TYPE \(name.rawValue) \(name.kind)\n" + lines.joined()
        }.joined()
    }
}
