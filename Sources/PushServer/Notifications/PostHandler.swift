internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Accepts notifications to send, in the short forms of Microsoft's tutorial and in the full form.
struct PostHandler: Handler {
    static let parameters = ["app", "pns", "to_tag"]

    let poster: NotificationPoster
    let idempotency: IdempotencyGuard
    let settings: ServerSettings

    var routes: [Route] {
        [
            Route(
                .post,
                Paths.notifications,
                .atLeast(.device, .send),
                query: Self.parameters,
                body: RouteBody(NotificationOrder.members)
            ) { try await self.postNotification($0) }
        ]
    }

    private func postNotification(_ context: RequestContext) async throws -> Response {
        let bytes = try await context.request.body.collect()
        guard let request = try self.idempotency.request(of: context, body: bytes) else {
            return try await self.post(bytes, of: context, once: nil)
        }
        try self.idempotency.begin(request)
        defer { self.idempotency.end(request) }
        return try await self.post(bytes, of: context, once: request)
    }

    private func post(_ bytes: [UInt8], of context: RequestContext, once request: IdempotentRequest?) async throws
        -> Response
    {
        let (order, isFullForm) = try self.order(bytes, context)
        let payload = try order.payload(from: context.user, self.settings)
        let sent = try await self.poster.post(order, payload: payload, of: context, once: request) { id in
            try context.record(.send, of: "\(id)", detail: order.auditDetail)
        }
        guard isFullForm else {
            // Clients that send a short form, such as those of Microsoft's tutorial, expect the
            // answer to be the notification as its recipient fetches it.
            let item = NotificationItem(
                id: sent.id.rawValue,
                payload: order.payload,
                isRead: false,
                createdAt: sent.createdAt,
                expiresAt: sent.expiresAt
            )
            return Response(uncached: item.json)
        }
        return Response(created: Paths.notification(sent.id.rawValue), sent.json)
    }

    /// Reads one of the three forms of a request: with an empty body, with a string as body and
    /// its recipient in the query, or with an object as body.
    private func order(_ bytes: [UInt8], _ context: RequestContext) throws -> (
        order: NotificationOrder, isFullForm: Bool
    ) {
        let user = try context.user
        let caller = user.name
        // The query is read for every form of the body, so that a misspelt value in it is always
        // reported.
        let query = try Query(context.request.head.query)
        let app = try self.settings.app(named: try query["app"], for: user)
        let platform = try query["pns"].map { try self.settings.platform(named: $0.lowercased(), of: app) }
        let platforms = platform.map { [$0] } ?? self.settings.platforms(of: app)
        let recipient = try query["to_tag"].map(self.username) ?? caller
        if bytes.isEmpty {
            try Self.refuse(["pns", "to_tag"], in: query)
            let payload = self.settings.emptyPayload
            let order = NotificationOrder(
                payload: payload,
                to: caller,
                of: app,
                platforms: self.settings.platforms(of: app),
                lifetime: self.settings.lifetime
            )
            return (order, false)
        }
        let json = try JSONValue(body: bytes)
        switch json {
        case .string(let payload):
            let order = NotificationOrder(
                payload: payload,
                to: recipient,
                of: app,
                platforms: platforms,
                lifetime: self.settings.lifetime(to: platforms)
            )
            return (order, false)
        case .object:
            try Self.refuse(Self.parameters, in: query)
            return (
                try NotificationOrder(JSONBody(json), caller: user, settings: self.settings, now: context.now), true
            )
        default:
            throw Problem(.invalidJSON, "the body is \(json.kind), not a string or an object")
        }
    }

    /// Throws an `unknown-parameter` problem if the query has one of these parameters, which have
    /// no meaning with this form of the body: the notification would go to others than the query
    /// names.
    static func refuse(_ names: [String], in query: Query) throws(Problem) {
        guard let name = query.names.first(where: names.contains) else { return }
        throw Problem(
            .unknownParameter,
            "the parameter \"\(name)\" works only with a string as the body; in an object, use App, To and Platforms"
        )
    }

    private func username(_ text: String) throws -> Username {
        guard let name = Username(text) else { throw Problem(.invalidParameter, "to_tag must be a user name") }
        return name
    }
}
