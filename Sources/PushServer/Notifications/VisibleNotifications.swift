internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// The notifications that a caller may see: those that the caller has received and, if the caller
/// is a publisher, those that the caller has sent.
struct VisibleNotifications: Sendable {
    let vault: Vault
    /// How many seconds a phone may answer from its cache.
    let maxAge: Int64

    /// The notification whose id is in the path. Throws a `not-found` problem if the caller cannot
    /// see it.
    func find(_ context: RequestContext, for user: User) async throws -> (NotificationID, StoredNotification) {
        let id = try self.id(in: context)
        let sends = user.role.includes(.publisher)
        let fetch = NotificationFetch(id, for: user.id, alsoAsSender: sends, now: context.now)
        guard let found = try await context.reader.notification(fetch), user.mayUse(found.app) else {
            throw Problem(.notFound)
        }
        return (id, found)
    }

    /// The id in the path. Throws a `not-found` problem if the segment is not an id.
    func id(in context: RequestContext) throws(Problem) -> NotificationID {
        // A string of the parameter would cost more than this reading of its digits.
        guard let id = context.withParameter({ NotificationID(digits: $0) }) ?? NotificationID(context.parameter) else {
            throw Problem(.notFound)
        }
        return id
    }

    /// The id in the path and the notification's app, for an action on the notification. Throws a
    /// `not-found` problem if the caller does not belong to this app. The app is `nil` if an
    /// administrator asks and the notification does not exist.
    func actionable(_ context: RequestContext) async throws -> (id: NotificationID, app: AppName?) {
        let (id, user) = (try self.id(in: context), try context.user)
        let app = try await context.reader.apps(of: [id], now: context.now)[id]
        guard user.role == .admin || app.map(user.mayUse) == true else { throw Problem(.notFound) }
        return (id, app)
    }

    /// The id in the path, for a report on the notification. Throws a `not-found` problem unless
    /// the caller has sent the notification, or may see all notifications of its app.
    func reportable(_ context: RequestContext) async throws -> NotificationID {
        let user = try context.user
        let id = try await self.actionable(context).id
        let sender = user.role.seesAll ? nil : user.id
        guard try await context.reader.isThere(id, from: sender, now: context.now) else { throw Problem(.notFound) }
        return id
    }

    /// A notification as the caller sees it, with the device key that the request names.
    func view(
        of id: NotificationID,
        _ found: consuming StoredNotification,
        for context: RequestContext
    ) throws(Problem) -> NotificationView {
        NotificationView(
            id: id,
            notification: found,
            account: context.caller?.account,
            maxAge: self.maxAge,
            now: context.now,
            // Most requests have no query, so for them nothing is parsed.
            deviceKey: try context.request.head.query.map { query throws(Problem) in
                EndToEndPayload.deviceKey(try Query(query)["key"])
            } ?? nil
        )
    }

    /// Throws a `precondition-failed` problem if a request for a change requires another state of
    /// the notification.
    func check(
        _ preconditions: Preconditions,
        against found: StoredNotification,
        _ id: NotificationID,
        for context: RequestContext
    ) throws(Problem) {
        let view = try self.view(of: id, found, for: context)
        guard preconditions.outcome(for: view.validators, now: context.now) == .proceed else {
            throw Problem(.preconditionFailed)
        }
    }
}
