internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows administrators the state of the server: its throughput, the pushes that wait and why they
/// wait, and the credentials that expire soon.
struct StatusHandler: Handler {
    let cluster: (any Cluster)?
    let daemon: Daemon
    /// The names of the platforms that have a sender.
    let platforms: Set<String>
    let startedAt: Date
    let scope: AppScope
    /// The status shows at most this number of the servers that share the database.
    private static let maximumServers = 100

    var routes: [Route] {
        [Route(.get, Paths.status, .atLeast(.admin, .manage, seeing: .view)) { try await self.showStatus($0) }]
    }

    private func showStatus(_ context: RequestContext) async throws -> Response {
        let schedule = try await context.reader.schedule()
        let credentials = self.daemon.credentials().sorted { ($0.expiresAt, $0.name) < ($1.expiresAt, $1.name) }
        return Response(
            uncached: .object([
                .init("Version", .string(self.daemon.version)),
                .init("StartedAt", .string(self.startedAt.rfc3339)),
                .init("Now", .string(context.now.rfc3339)),
                .init("Servers", .number(try await self.cluster?.sharing().servers ?? 1)),
                .init("Nodes", .array(try await self.cluster?.servers(limit: Self.maximumServers).map(\.json) ?? [])),
                .init("Troubles", .array((self.daemon.troubles() + self.daemon.warnings()).map { .string($0) })),
                .init("Lanes", .array(try await self.lanes(context))),
                .init(
                    "Scheduled",
                    .object([
                        .init("Count", .number(schedule.count)),
                        .init("FirstDue", schedule.firstDue.map { .string($0.rfc3339) } ?? .null),
                    ])
                ),
                .init(
                    "Credentials",
                    .array(
                        credentials.map {
                            .object([
                                .init("Name", .string($0.name)), .init("ExpiresAt", .string($0.expiresAt.rfc3339)),
                                .init(
                                    "Lifetime",
                                    $0.lifetime.flatMap { Int(exactly: $0) }.map { .number($0) } ?? .null
                                ),
                            ])
                        }
                    )
                ),
                .init("History", self.daemon.history.json(at: context.now)),
            ])
        )
    }

    /// The lanes (a lane is the queue of pushes to one provider) as JSON, sorted by name: those of
    /// this server's senders, and all other lanes that have ever had pushes.
    private func lanes(_ context: RequestContext) async throws -> [JSONValue] {
        let pauses = self.daemon.pauses()
        let tallies = try await context.reader.tallies()
        var lanes: [String: Lane] = [:]
        for name in tallies.keys { lanes[name] = Lane(Platform(stored: name)) }
        for lane in pauses.keys { lanes[lane.description] = lane }
        let apps = self.scope.limit(of: try context.user)
        lanes = lanes.filter { name, _ in apps?.contains(Platform(stored: name).app) ?? true }
        var values: [JSONValue] = []
        for (name, lane) in lanes.sorted(by: { $0.key < $1.key }) {
            let (tally, pause) = (tallies[name], pauses[lane] ?? nil)
            let overdue = try await context.reader.overdue(of: lane, now: context.now)
            let age = try await context.reader.oldestAge(in: lane, now: context.now)
            values.append(
                .object([
                    .init("Name", .string(name)),
                    .init("Pending", .number(tally?.pending ?? 0)),
                    .init("OverdueSeconds", .number(Int(overdue.rounded(.down)))),
                    .init("OldestSeconds", .number(Int(age.rounded(.down)))),
                    .init("Accepted", .number(tally?.accepted ?? 0)),
                    .init("Failed", .number(tally?.failed ?? 0)),
                    .init("Expired", .number(tally?.expired ?? 0)),
                    .init("Cancelled", .number(tally?.cancelled ?? 0)),
                    .init("HasSender", .bool(pauses.hasSender(for: lane, among: self.platforms))),
                    .init("Pause", pause.map(\.json) ?? .null),
                ])
            )
        }
        return values
    }
}

extension StoreReader {
    /// The number of seconds since the lane's oldest waiting push became due. A push waits until a
    /// server has begun to send it. 0 if no push waits.
    func overdue(of lane: Lane, now: Date) async throws -> TimeInterval {
        try await self.greatestAge(now: now) { queue in try await self.nextDue(in: lane, queue) }
    }

    /// The age, in seconds, of the oldest notification that still has a push in this lane, whether
    /// the push is due or waits for a retry. 0 if no push waits.
    func oldestAge(in lane: Lane, now: Date) async throws -> TimeInterval {
        try await self.greatestAge(now: now) { queue in try await self.oldestWaiting(in: lane, queue) }
    }

    private func greatestAge(now: Date, of time: (Queue) async throws -> Date?) async throws -> TimeInterval {
        var age: TimeInterval = 0
        for queue in Queue.allCases {
            guard let time = try await time(queue) else { continue }
            age = max(age, now.timeIntervalSince(time))
        }
        return age
    }
}

extension ServerEntry {
    fileprivate var json: JSONValue {
        .object([
            .init("Name", .string(self.name)),
            .init("Version", .string(self.release)),
            .init("StartedAt", .string(self.startedAt.rfc3339)),
            .init("HeardAt", .string(self.heardAt.rfc3339)),
            .init("State", .string(self.state.rawValue)),
            .init("IsThis", .bool(self.isThis)),
        ])
    }
}

extension Pause {
    fileprivate var json: JSONValue {
        .object([
            .init("Cause", .string(self.cause.rawValue)),
            .init("Reason", .string(self.reason)),
            .init("Since", .string(self.since.rfc3339)),
            .init("Until", .string(self.until.rfc3339)),
        ])
    }
}

extension StatusHistory {
    fileprivate func json(at now: Date) -> JSONValue {
        let (steps, end) = self.steps(at: now)
        func values(_ value: (Step) -> Int) -> JSONValue {
            .array(steps.map { $0.map { .number(value($0)) } ?? .null })
        }
        return .object([
            .init("Seconds", .number(Int(Self.step.components.seconds))),
            .init("End", .string(end.rfc3339)),
            .init("Posted", values(\.posted)),
            .init("Accepted", values(\.accepted)),
            .init("Failed", values(\.failed)),
            .init("Fetched", values(\.fetched)),
            .init("Pending", values(\.pending)),
        ])
    }
}
