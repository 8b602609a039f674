internal import HTTPTypes
internal import Logging
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Ends the pause of a lane (the queue of pushes to one provider) when an administrator, who has
/// fixed the pause's cause, requests it.
struct LaneHandler: Handler {
    let daemon: Daemon
    let logger: Logger

    var routes: [Route] {
        [Route(.post, Paths.retryLane, .atLeast(.admin, .manage), body: ["Lane"]) { try await self.retry($0) }]
    }

    private func retry(_ context: RequestContext) async throws -> Response {
        let name = try JSONBody(try await context.request.body.collect()).requiredString("Lane")
        guard let lane = self.daemon.pauses().keys.first(where: { $0.description == name }) else {
            throw Problem(.notFound, "Lane is not a lane of this server; GET /api/status lists them")
        }
        let user = try context.user.name
        self.logger.info(
            "lane retried by an administrator",
            metadata: context.id.fields.merging(["lane": "\(lane)", "user": "\(user)"]) { $1 }
        )
        self.daemon.retry(lane)
        return .noContent
    }
}
