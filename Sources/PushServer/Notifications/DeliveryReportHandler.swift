internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Reports to the sender of a notification the states of its pushes.
struct DeliveryReportHandler: Handler {
    let reports: ReportReader
    let visible: VisibleNotifications
    private let counts = DeliveryCounts()

    init(reports: ReportReader, visible: VisibleNotifications) {
        self.reports = reports
        self.visible = visible
    }

    var routes: [Route] {
        [
            Route(
                .get,
                "\(Paths.notifications)/{id}/deliveries",
                .atLeast(.publisher, .send, seeing: .view),
                query: ["cursor", "limit", "counts"]
            ) { try await self.listDeliveries($0) }
        ]
    }

    private func listDeliveries(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let limit = try query.limit
        guard let start = Int64(try query["cursor"] ?? "0"), start >= 0 else {
            throw Problem(.invalidParameter, "cursor was not issued by this server; restart the list without cursor")
        }
        let steps: Int? =
            switch try query["counts"] {
            case nil, "all": nil
            case "part": DeliveryCounts.stepsOfPart
            default: throw Problem(.invalidParameter, "counts must be all or part")
            }
        let now = context.now
        let id = try await self.visible.reportable(context)
        let sendAt = try await context.reader.sendTime(of: id)
        let (counts, isComplete) = try await self.counts.counts(of: id, steps: steps, now: now) { device in
            try await self.reports.run {
                try await $0.countDeliveries(of: id, after: device, limit: DeliveryCounts.countedAtOnce)
            }
        }
        // One entry more than the limit is read, which reveals whether a further page exists.
        let entries = try await self.reports.run { try await $0.deliveries(of: id, after: start, limit: limit + 1) }
        let shown = entries.prefix(limit)
        return Response(
            uncached: .object([
                .init("SendAt", sendAt.map { .string($0.rfc3339) } ?? .null),
                .init("Counts", .object(DeliveryStage.allCases.map { .init($0.rawValue, .number(counts[$0] ?? 0)) })),
                .init("Counted", .string(isComplete ? "all" : "part")),
                .init("Deliveries", .array(shown.map(\.json))),
                .init("Cursor", .string(String(shown.last?.number ?? start))),
                .init("More", .bool(entries.count > limit)),
            ])
        )
    }
}

extension DeliveryEntry {
    fileprivate var json: JSONValue { .object(self.members) }

    var members: [JSONValue.Member] {
        [
            .init("Device", self.device.map { .string($0.description) } ?? .null),
            .init("User", self.username.map { .string($0.description) } ?? .null),
            .init("App", .string(self.platform.app.description)),
            .init("Platform", .string(self.platform.name)),
            .init("State", .string(self.state.rawValue)),
            .init("Attempts", .number(self.attempts)),
            .init("UpdatedAt", self.updatedAt.map { .string($0.rfc3339) } ?? .null),
            .init("Reason", self.reason.map { .string($0) } ?? .null),
        ]
    }
}
