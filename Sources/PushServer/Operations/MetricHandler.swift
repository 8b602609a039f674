internal import Foundation
internal import HTTPTypes
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows administrators the metrics, in Prometheus' text format.
struct MetricHandler: Handler {
    let store: any StoreHealth
    let cluster: (any Cluster)?
    let vault: Vault
    let authenticator: Authenticator
    let identityField: IdentityField?
    /// Whether the operator has configured a receiver of events, so that the metrics show the
    /// number of events that wait for the receiver.
    let hasEventReceiver: Bool
    /// The samples of parts other than the store.
    let samples: @Sendable () -> [MetricSample]
    let startedAt: Date

    var routes: [Route] {
        [
            Route(.get, "/metrics", .atLeast(.admin, .manage, seeing: .metrics), hosts: .addresses) {
                try await self.showMetrics($0)
            }
        ]
    }

    private func showMetrics(_ context: RequestContext) async throws -> Response {
        var samples = self.samples() + self.authenticator.samples
        samples.append(MetricSample(.startTime, [:], self.startedAt.timeIntervalSince1970.rounded()))
        samples.append(MetricSample(.auditEntries, [:], Double(try await context.reader.lastAuditNumber())))
        samples += self.store.report.samples
        samples += try await self.cluster?.sharing().samples ?? []
        if let day = self.vault.days?.chain.day {
            samples.append(MetricSample(.oldestDayKey, [:], Double(day.number) * 86_400))
        }
        if let field = self.identityField {
            samples.append(MetricSample(.identityIgnored, [:], Double(field.ignoredCount)))
        }
        let schedule = try await context.reader.schedule()
        let lateness = schedule.firstDue.map { max(0, context.now.timeIntervalSince($0)) } ?? 0
        samples.append(MetricSample(.scheduled, [:], Double(schedule.count)))
        samples.append(MetricSample(.scheduledLateness, [:], lateness))
        if self.hasEventReceiver {
            let backlog = try await context.reader.eventBacklog()
            let age = backlog.oldest.map { max(0, context.now.timeIntervalSince($0)) } ?? 0
            samples.append(MetricSample(.eventsWaiting, [:], Double(backlog.count)))
            samples.append(MetricSample(.eventsOldest, [:], age.rounded()))
        }
        for (lane, tally) in try await context.reader.tallies() {
            let counts = [
                ("enqueued", tally.enqueued), ("accepted", tally.accepted), ("expired", tally.expired),
                ("failed", tally.failed), ("cancelled", tally.cancelled),
            ]
            for (state, count) in counts {
                samples.append(MetricSample(.deliveries, ["lane": lane, "state": state], Double(count)))
            }
            samples.append(MetricSample(.pending, ["lane": lane], Double(tally.pending)))
            let stored = Lane(Platform(stored: lane))
            let overdue = try await context.reader.overdue(of: stored, now: context.now)
            samples.append(MetricSample(.overdue, ["lane": lane], overdue))
            let age = try await context.reader.oldestAge(in: stored, now: context.now)
            samples.append(MetricSample(.oldestPush, ["lane": lane], age))
        }
        return Response(
            status: .ok,
            fields: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
            body: Array(samples.exposition.utf8)
        )
    }

}

extension StoreReport {
    fileprivate var samples: [MetricSample] {
        [
            MetricSample(.writesWaiting, [:], Double(self.waiting)),
            MetricSample(.receiptsWaiting, [:], Double(self.receiptsWaiting)),
            MetricSample(.receiptsDropped, [:], Double(self.receiptsDropped)),
            MetricSample(.rowsSetAside, [:], Double(self.setAside)),
            MetricSample(.checkpointFailures, [:], Double(self.checkpointFailures)),
            MetricSample(.logBytes, [:], Double(self.logBytes)),
        ] + (self.file?.samples ?? []) + (self.commits?.samples ?? []) + (self.syncs?.samples ?? [])
    }
}

extension StoreReport.Commits {
    fileprivate var samples: [MetricSample] {
        [MetricSample(.writes, [:], Double(self.writes))] + self.times.samples(.commitTime, [])
    }
}

extension StoreReport.Syncs {
    fileprivate var samples: [MetricSample] {
        self.log.samples(.syncTime, [["file", "log"]]) + self.database.samples(.syncTime, [["file", "database"]])
    }
}

extension StoreReport.File {
    fileprivate var samples: [MetricSample] {
        [
            MetricSample(.fileBytes, [:], Double(self.bytes)),
            MetricSample(.freeBytes, [:], Double(self.freeBytes)),
        ]
    }
}

extension SharingReport {
    fileprivate var samples: [MetricSample] {
        var samples = [
            MetricSample(.servers, [:], Double(self.servers)),
            MetricSample(.databaseConnections, [:], Double(self.connections)),
            MetricSample(.databaseWaiting, [:], Double(self.waiting)),
            MetricSample(.databaseOldestWait, [:], self.oldestWait / .seconds(1)),
            MetricSample(.databaseRetries, [:], Double(self.retries)),
            MetricSample(.databaseConnectionsLost, [:], Double(self.connectionsLost)),
        ]
        if let late = self.lateDayKeys { samples.append(MetricSample(.lateDayKeys, [:], Double(late))) }
        if let standbys = self.standbys { samples.append(MetricSample(.standbys, [:], Double(standbys))) }
        if let lag = self.standbyLag { samples.append(MetricSample(.standbyLag, [:], Double(lag))) }
        return samples
    }
}
