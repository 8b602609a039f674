internal import Foundation

/// What is measured; `docs/operations.md` lists all.
package enum MetricName: String, CaseIterable, Sendable {
    case startTime = "sealpost_start_time_seconds"
    case deliveries = "sealpost_deliveries_total"
    case pending = "sealpost_deliveries_pending"
    case resting = "sealpost_lane_resting"
    case auditEntries = "sealpost_audit_entries_total"
    case credentialExpiry = "sealpost_credential_expiry_timestamp_seconds"
    case writesWaiting = "sealpost_writes_waiting"
    case receiptsWaiting = "sealpost_receipts_waiting"
    case receiptsDropped = "sealpost_receipts_dropped_total"
    case rowsSetAside = "sealpost_rows_set_aside_total"
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
        case .startTime: "When the server started, in seconds since 1970."
        case .deliveries: "Pushes to one device each, by lane: enqueued, and what they ended as."
        case .pending: "Pushes that have not ended yet, by lane."
        case .resting: "1 while nothing is sent through the lane, because its provider is down or refuses."
        case .auditEntries: "Entries that were ever added to the audit."
        case .credentialExpiry: "When a credential ends, in seconds since 1970, where that is known."
        case .writesWaiting: "Writes that wait for their commit."
        case .receiptsWaiting: "Receipts of collected notifications that wait to be written."
        case .receiptsDropped: "Receipts that were dropped because too many waited."
        case .rowsSetAside: "Damaged rows of the database that were set aside."
        case .checkpointFailures: "Checkpoints of the database that failed."
        case .logBytes: "Size of the database's write-ahead log in use."
        case .identityIgnored: "Requests with the identity header that did not come from a trusted proxy."
        case .signIns: "Credentials that were not remembered, by what became of them."
        case .requestsLimited: "Requests refused because their user's quota was used up, by role."
        case .logLinesDropped: "Log lines that were dropped because standard error could not take them."
        case .connections: "Connections that are open."
        case .connectionsRefused: "Connections refused because there were too many, in all or from their address."
        case .connectionsEvicted: "Idle connections that were closed to make room for others."
        }
    }

    var kind: String {
        switch self {
        case .deliveries, .auditEntries, .identityIgnored, .signIns, .requestsLimited, .receiptsDropped, .rowsSetAside,
            .checkpointFailures, .logLinesDropped, .connectionsRefused, .connectionsEvicted:
            "counter"
        case .startTime, .pending, .resting, .credentialExpiry, .writesWaiting, .receiptsWaiting, .logBytes,
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
        // Whole numbers without a point, as they are counted.
        let value = Int(exactly: self.value).map(String.init) ?? "\(self.value)"
        return "\(self.name.rawValue)\(labels.isEmpty ? "" : "{\(labels)}") \(value)\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

extension Collection<MetricSample> {
    /// All of them in Prometheus' text format 0.0.4, the values of a metric together.
    var exposition: String {
        MetricName.allCases.map { name in
            let lines = self.filter { $0.name == name }.map(\.line).sorted()
            if lines.isEmpty { return "" }
            return "# HELP \(name.rawValue) \(name.help)\n# TYPE \(name.rawValue) \(name.kind)\n" + lines.joined()
        }.joined()
    }
}
