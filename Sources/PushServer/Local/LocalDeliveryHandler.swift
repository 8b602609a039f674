internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows the counts of a notification's pushes by state.
struct LocalDeliveryHandler: Handler {
    let reports: ReportReader
    /// The maximum number of pushes that one step, a single read of the store, counts.
    private let limit: Int
    /// The cached counts that were made while the server was still finding the notification's
    /// devices. They are kept apart from `settled`: otherwise such a count, which lacks the last
    /// pushes, could be reported as final after the last device was found.
    private let growing = DeliveryCounts(keptForStep: Self.keptForStep)
    private let settled = DeliveryCounts(keptForStep: Self.keptForStep)
    /// How long a count is cached for each step that it took; a step is a single read of the
    /// store. The time is about ten times the duration of a step: while a command waits, counting
    /// takes only a tenth of the time, and the command's progress bar still moves.
    private static let keptForStep: TimeInterval = 0.2

    init(reports: ReportReader, limit: Int = DeliveryCounts.countedAtOnce) {
        self.reports = reports
        self.limit = limit
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
        // The state of the fan-out is read before the pushes are counted: if the fan-out has ended
        // by now, the count misses no push.
        let isFanningOut = try await context.reader.isFanningOut(id)
        let known = isFanningOut ? self.growing : self.settled
        let (counts, _) = try await known.counts(of: id, now: context.now) { device in
            try await self.reports.run { [limit] in
                try await $0.countDeliveries(of: id, after: device, limit: limit)
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
