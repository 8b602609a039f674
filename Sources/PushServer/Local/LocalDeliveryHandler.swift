internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Tells how far a notification's pushes are, all in all.
struct LocalDeliveryHandler: Handler {
    let reports: ReportReader
    private let counts = DeliveryCounts()

    init(reports: ReportReader) {
        self.reports = reports
    }

    var routes: [Route] {
        [
            Route(.get, "\(LocalPaths.deliveries)/{id}", .atLeast(.admin, .manage)) {
                try await self.showCounts($0)
            }
        ]
    }

    private func showCounts(_ context: RequestContext) async throws -> Response {
        guard
            let id = NotificationID(context.parameter),
            try await context.reader.isThere(id, from: nil, now: context.now)
        else { throw Problem(.notFound) }
        let sendAt = try await context.reader.sendTime(of: id)
        // Asked before they are counted: what is found afterwards is not missing then.
        let isFanningOut = try await context.reader.isFanningOut(id)
        let (counts, _) = try await self.counts.counts(of: id, now: context.now) { device in
            try await self.reports.run {
                try await $0.countDeliveries(of: id, after: device, limit: DeliveryCounts.countedAtOnce)
            }
        }
        return Response(
            uncached: .object([
                .init("Id", .number(id.rawValue)),
                .init("SendAt", sendAt.map { .string($0.rfc3339) } ?? .null),
                .init("FanningOut", .bool(isFanningOut)),
                .init("Counts", .object(DeliveryStage.allCases.map { .init($0.rawValue, .number(counts[$0] ?? 0)) })),
            ])
        )
    }
}
