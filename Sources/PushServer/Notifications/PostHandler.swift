internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

extension PushServer {
    static let notificationRoutes = [
        Route(.post, Paths.notifications, .atLeast(.device, .send)) { try await $0.postNotification($1) },
        Route(
            .get,
            "\(Paths.notifications)/{id}",
            .atLeast(.device, .fetch),
            atOnce: { try $0.readNotification($1) },
            { try await $0.takeNotification($1) }
        ),
    ]

    // MARK: Sending

    private func postNotification(_ call: Call) async throws -> Response {
        let bytes = try await call.request.body.collect()
        guard let request = try self.idempotency.request(of: call, body: bytes) else {
            return try await self.post(bytes, of: call, once: nil)
        }
        try self.idempotency.begin(request)
        defer { self.idempotency.end(request) }
        return try await self.post(bytes, of: call, once: request)
    }

    private func post(_ bytes: [UInt8], of call: Call, once request: IdempotentRequest?) async throws -> Response {
        let (order, isFullForm) = try self.order(bytes, call)
        let user = try call.user
        guard user.role >= .publisher || order.isOnly(for: user.name) else {
            throw Problem(.forbidden, "a device may send to its own user only")
        }
        let payload = order.payload.bytes
        guard payload.count <= self.settings.maximumPayload else {
            throw Problem(.payloadTooLarge, "Payload is over \(self.settings.maximumPayload) bytes")
        }
        let posted = try await self.store(order, payload: payload, of: call, once: request) { id in
            try call.record(.send, of: "\(id)")
        }
        let item = NotificationItem(
            id: posted.id.rawValue,
            payload: isFullForm ? nil : order.payload,
            isRead: false,
            createdAt: posted.createdAt,
            expiresAt: posted.expiresAt
        )
        return isFullForm
            ? Response(created: Paths.notification(posted.id.rawValue), item.json) : Response(uncached: item.json)
    }

    /// Reads one of the three forms: nothing, a string with its addressee in the query, or an object.
    private func order(_ bytes: [UInt8], _ call: Call) throws -> (order: NotificationOrder, isFullForm: Bool) {
        let caller = try call.user.name
        let lifetime = self.settings.lifetime
        // Looked at whatever the body is: who spells one wrong shall hear of it.
        let query = try Query(call.request.head.query)
        let platform = try query["pns"].map { try self.settings.platform(named: $0.lowercased()) }
        let recipient = try query["to_tag"].map(self.username) ?? caller
        if bytes.isEmpty {
            let payload = self.settings.emptyPayload
            return (NotificationOrder(payload: payload, to: caller, platform: nil, lifetime: lifetime), false)
        }
        let json = try JSONValue(body: bytes)
        switch json {
        case .string(let payload):
            return (NotificationOrder(payload: payload, to: recipient, platform: platform, lifetime: lifetime), false)
        case .object:
            return (try NotificationOrder(JSONBody(json), caller: caller, settings: self.settings), true)
        default:
            throw Problem(.invalidJSON, "the body is \(json.kind), not a string or an object")
        }
    }

    private func username(_ text: String) throws -> Username {
        guard let name = Username(text) else { throw Problem(.invalidParameter, "to_tag is not a user's name") }
        return name
    }

    /// A notification as its sender is told of it.
    struct Posted {
        let id: NotificationID
        let createdAt: Date
        let expiresAt: Date
    }

    /// Seals and stores what an order of a call asks for, and the work of pushing it; or finds what came of the same request
    /// before, which was to be answered `once`.
    func store(
        _ order: NotificationOrder,
        payload: [UInt8],
        of call: Call,
        once request: IdempotentRequest? = nil,
        record: (NotificationID) throws -> AuditRecord
    ) async throws -> Posted {
        let (sender, now) = (try call.user.id, call.now)
        let ids = NotificationIDs(bits: self.settings.idBits)
        // Random ids of 31 bits do meet; the tries are bounded only so that a full table ends in an error.
        for _ in 0..<100 {
            guard let id = ids.draw(at: now) else { continue }
            let notification = NewNotification(
                id: id,
                sender: sender,
                sealedPayload: try self.vault.seal(payload, in: .payload(id, sender: sender)),
                audience: order.audience,
                isStoredByClients: order.isStoredByClients,
                isReadOnce: order.isReadOnce,
                priority: order.priority,
                collapseID: order.collapseKey.map { self.collapseIDs.id(of: $0, from: sender) },
                createdAt: now,
                expiresAt: now + TimeInterval(order.lifetime.components.seconds)
            )
            let bounds = try self.settings.storage[call.user.role]
            switch try await self.store.post(notification, once: request, by: record(id), within: bounds) {
            case .stored(_, let hasWork):
                if hasWork { self.workIsWaiting() }
                return Posted(id: id, createdAt: now, expiresAt: notification.expiresAt)
            case .repeated(let id, let createdAt, let expiresAt):
                return Posted(id: id, createdAt: createdAt, expiresAt: expiresAt)
            case .keyReused: throw Problem(.idempotencyKeyReused)
            case .tooMuch(let excess): throw Problem(.tooMuchStored, bounds.map(excess.detail))
            case .idTaken: continue
            case .unknownUser(let name): throw Problem(.unknownUser, "there is no user \(name)")
            }
        }
        throw Problem(.busy, "no id is free")
    }

    // MARK: Collecting

    /// The answer to a fetch; `nil` for a payload that goes with it.
    private func readNotification(_ call: Call) throws -> Response? {
        let user = try call.user
        let (id, found) = try self.find(call, for: user)
        guard !found.isReadOnce else { return nil }
        let view = self.view(of: id, found, for: user, now: call.now)
        let isUnchanged = try call.request.head.isConditional && self.isUnchanged(view, for: call)
        let response =
            isUnchanged
            ? view.notModified
            : view.full(payload: try self.vault.open(found.sealedPayload, in: .payload(id, sender: found.sender)))
        if found.isRecipient, found.fetchedAt == nil, call.request.head.method == .get {
            self.store.noteFetch(of: id, by: user.id, now: call.now)
        }
        return response
    }

    /// Whether the client has this already. Throws a `precondition-failed` problem if it expects another state.
    @inline(never)
    private func isUnchanged(_ view: NotificationView, for call: Call) throws(Problem) -> Bool {
        switch Preconditions(call.request.head).outcome(for: view.validators, now: call.now) {
        case .proceed: return false
        case .unchanged: return true
        case .failed: throw Problem(.preconditionFailed)
        }
    }

    /// Answers a payload that goes with being collected. `HEAD` shows it without taking it.
    private func takeNotification(_ call: Call) async throws -> Response {
        let user = try call.user
        let (id, found) = try self.find(call, for: user)
        let view = self.view(of: id, found, for: user, now: call.now)
        // Nobody can have it already, but it may be asked for only in a certain state.
        if call.request.head.isConditional { _ = try self.isUnchanged(view, for: call) }
        let payload = try self.vault.open(found.sealedPayload, in: .payload(id, sender: found.sender))
        if found.isRecipient, call.request.head.method == .get {
            guard try await self.take(id, call) else {
                throw Problem(.notFound)
            }
        }
        return view.full(payload: payload)
    }

    private func take(_ id: NotificationID, _ call: Call) async throws -> Bool {
        try await self.store.take(id, by: call.user.id, noting: call.record(.take, of: "\(id)"), now: call.now)
    }

    /// A notification as that user sees it.
    func view(of id: NotificationID, _ found: StoredNotification, for user: User, now: Date) -> NotificationView {
        NotificationView(
            id: id,
            notification: found,
            tag: self.tags.tag(of: id, for: user.id, isRead: found.readAt != nil, createdAt: found.createdAt),
            maxAge: self.settings.cacheMaxAge,
            now: now
        )
    }

    /// The notification of the path, if the caller can see it; throws a `not-found` problem.
    func find(_ call: Call, for user: User) throws -> (NotificationID, StoredNotification) {
        guard
            let id = NotificationID(call.parameter),
            let found = try self.readers[call.request.loopIndex].notification(
                id,
                for: user.id,
                alsoAsSender: user.role >= .publisher,
                now: call.now
            )
        else { throw Problem(.notFound) }
        return (id, found)
    }
}
