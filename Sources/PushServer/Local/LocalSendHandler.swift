internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Sends notifications in the name of operators at the server's machine. An operator is not a user
/// of the server, so the request must name the notification's recipients.
struct LocalSendHandler: Handler {
    let poster: NotificationPoster
    let settings: ServerSettings

    var routes: [Route] {
        [
            Route(
                .post,
                LocalPaths.notifications,
                .atLeast(.admin, .manage),
                body: RouteBody(NotificationOrder.members)
            ) {
                try await self.send($0)
            }
        ]
    }

    private func send(_ context: RequestContext) async throws -> Response {
        let user = try context.user
        let body = try JSONBody(try await context.request.body.collect())
        guard body.value("To") != nil else { throw Problem(.invalidMember, "To is missing") }
        let order = try NotificationOrder(body, caller: user, settings: self.settings, now: context.now)
        // If `SendAt` is in the past, the API sends at once, but this handler refuses it: an
        // operator who gives a past time has probably confused the day or the time zone.
        guard order.sendAt.map({ $0 > context.now }) != false else {
            throw Problem(.invalidMember, "SendAt has passed; leave it out to send at once")
        }
        let payload = try order.payload(from: user, self.settings)
        let sent = try await self.poster.post(order, payload: payload, of: context) { id in
            try context.record(.send, of: "\(id)", detail: order.auditDetail)
        }
        return Response(created: Paths.notification(sent.id.rawValue), sent.json)
    }
}
