import PushCore
import Testing

/// The statuses of a route's answers to callers who may use the route. `AuthorisationTests.least`
/// says who may use each route.
struct AccessRow: Sendable {
    /// The kind of resource that `{id}` in the path names. For the event stream, it is the kind
    /// that the parameter `device` names.
    enum Resource: Sendable {
        case nothing, notification, registration, device, streamDevice, token, user, file
    }

    let resource: Resource
    let own: Int
    /// The status for the caller's own resource if the caller signs in by password; `nil` if it is
    /// the same as with a token.
    var ownByPassword: Int?
    var foreign: Int?
    /// The status for another user's resource if the caller is an administrator with the needed
    /// scope, or a viewer who may see the resource. `nil` if other callers get the same status.
    var foreignToAdministrator: Int?
    /// The status for a publisher's own resource; `nil` if it is the same as for other owners.
    var ownToPublisher: Int?
    /// The status for a publisher; `nil` if it is the same as for other callers.
    var toPublisher: Int?
    var missing: Int?
    var body = ""
    /// Whether the body is a device key of the caller's account, in place of `body`.
    var hasDeviceKey = false

    /// Every route. Add each new route here. The answers about another user's resource and about a
    /// missing resource must be the same.
    static let all: [String: AccessRow] = [
        "POST /api/register": AccessRow(resource: .nothing, own: 200),
        "GET /api/register": AccessRow(resource: .nothing, own: 200),
        "PUT /api/register/{id}": AccessRow(
            resource: .registration,
            own: 200,
            foreign: 410,
            missing: 410,
            body: #"{"Platform":"apns","Handle":"aabb"}"#
        ),
        "DELETE /api/register/{id}": AccessRow(resource: .registration, own: 200, foreign: 200, missing: 200),
        // In these tests, no registration claims another user's handle, so there is nothing to
        // confirm. `HandleClaimTests` covers claims.
        "POST /api/register/{id}/confirmation": AccessRow(
            resource: .registration,
            own: 409,
            foreign: 404,
            missing: 404,
            body: #""0123456789abcdef0123456789abcdef""#
        ),
        "POST /api/notifications": AccessRow(resource: .nothing, own: 200),
        "GET /api/notifications": AccessRow(resource: .nothing, own: 200),
        "GET /api/notifications/{id}": AccessRow(resource: .notification, own: 200, foreign: 404, missing: 404),
        "PATCH /api/notifications/{id}": AccessRow(
            resource: .notification,
            own: 200,
            foreign: 404,
            missing: 404,
            body: #"{"Read":true}"#
        ),
        // The notification was sent without `ReadOnce`; `ReadOnceTests` covers read-once
        // payloads.
        "POST /api/notifications/{id}/taken": AccessRow(resource: .notification, own: 409, foreign: 404, missing: 404),
        "POST /api/notifications/batch": AccessRow(
            resource: .nothing,
            own: 200,
            body: #"{"Notifications":[{"Payload":1}]}"#
        ),
        "POST /api/notifications/read": AccessRow(resource: .nothing, own: 200, body: #"{"Ids":[1]}"#),
        "DELETE /api/notifications/{id}": AccessRow(
            resource: .notification,
            own: 204,
            foreign: 404,
            foreignToAdministrator: 204,
            missing: 404
        ),
        "GET /api/notifications/{id}/deliveries": AccessRow(
            resource: .notification,
            own: 200,
            foreign: 404,
            foreignToAdministrator: 200,
            missing: 404
        ),
        "GET /api/notifications/{id}/recipients": AccessRow(
            resource: .notification,
            own: 200,
            foreign: 404,
            foreignToAdministrator: 200,
            missing: 404
        ),
        // The notification exists, but has no push to the device in the path.
        "DELETE /api/notifications/{id}/deliveries/{device}": AccessRow(
            resource: .notification,
            own: 404,
            foreign: 404,
            foreignToAdministrator: 404,
            missing: 404
        ),
        "POST /api/notifications/{id}/deliveries/{device}": AccessRow(
            resource: .notification,
            own: 404,
            foreign: 404,
            foreignToAdministrator: 404,
            missing: 404
        ),
        "GET /api/events": AccessRow(resource: .nothing, own: 200),
        "GET /api/deliveries": AccessRow(resource: .nothing, own: 200),
        "GET /api/why/{id}": AccessRow(resource: .user, own: 200, foreign: 200, missing: 404),
        "GET /api/devices": AccessRow(resource: .nothing, own: 200),
        "DELETE /api/devices/{id}": AccessRow(resource: .device, own: 204, foreign: 204, missing: 404),
        "PUT /api/devices/{id}/topics/{topic}": AccessRow(resource: .device, own: 204, foreign: 410, missing: 410),
        "DELETE /api/devices/{id}/topics/{topic}": AccessRow(resource: .device, own: 204, foreign: 410, missing: 410),
        "PUT /api/devices/{id}/key": AccessRow(
            resource: .device,
            own: 204,
            foreign: 404,
            missing: 404,
            hasDeviceKey: true
        ),
        "GET /api/keys": AccessRow(resource: .nothing, own: 200),
        "POST /api/devices/{id}/test": AccessRow(
            resource: .device,
            own: 200,
            foreign: 404,
            foreignToAdministrator: 200,
            missing: 404
        ),
        "GET /api/stream": AccessRow(resource: .streamDevice, own: 200, foreign: 404, missing: 404),
        "POST /api/sessions": AccessRow(resource: .nothing, own: 403, ownByPassword: 201),
        "GET /api/sessions/current": AccessRow(resource: .nothing, own: 200),
        "DELETE /api/sessions/current": AccessRow(resource: .nothing, own: 204, ownByPassword: 404),
        "POST /api/tokens": AccessRow(resource: .nothing, own: 201, body: #"{"User":"bob"}"#),
        "GET /api/tokens": AccessRow(resource: .nothing, own: 200),
        "DELETE /api/tokens/{id}": AccessRow(resource: .token, own: 204, foreign: 204, missing: 404),
        "GET /api/audit": AccessRow(resource: .nothing, own: 200),
        "GET /api/users": AccessRow(resource: .nothing, own: 200),
        "GET /api/users/{id}": AccessRow(resource: .user, own: 200, foreign: 200, missing: 404),
        "PUT /api/users/current/password": AccessRow(
            resource: .nothing,
            own: 204,
            body: #"{"Current":"\#(ServerFixture.password)","New":"seven of nine 42"}"#
        ),
        "POST /api/users": AccessRow(
            resource: .nothing,
            own: 201,
            body: #"{"Name":"eve","Password":"seven of nine 42"}"#
        ),
        "PATCH /api/users/{id}": AccessRow(
            resource: .user,
            own: 204,
            foreign: 204,
            missing: 404,
            body: #"{"Role":"admin"}"#
        ),
        "GET /api/users/{id}/tags": AccessRow(
            resource: .user,
            own: 200,
            foreign: 200,
            ownToPublisher: 403,
            missing: 404
        ),
        "PUT /api/users/{id}/tags": AccessRow(
            resource: .user,
            own: 204,
            foreign: 204,
            ownToPublisher: 403,
            missing: 404,
            body: #"{"Tags":["board"]}"#
        ),
        // All users have a password here; `EnrolmentTests` covers users without one.
        "POST /api/users/{id}/enrolment": AccessRow(
            resource: .user,
            own: 201,
            foreign: 201,
            toPublisher: 403,
            missing: 404
        ),
        "POST /api/enrolment": AccessRow(resource: .nothing, own: 403, body: #"{"Code":"x"}"#),
        // The server refuses to delete the only administrator.
        "DELETE /api/users/{id}": AccessRow(resource: .user, own: 409, foreign: 204, missing: 404),
        "GET /api/webpush/key": AccessRow(resource: .nothing, own: 200),
        "GET /healthz": AccessRow(resource: .nothing, own: 200),
        "GET /.well-known/sealpost-keys": AccessRow(resource: .nothing, own: 200),
        "GET /readyz": AccessRow(resource: .nothing, own: 200),
        "GET /metrics": AccessRow(resource: .nothing, own: 200),
        "GET /openapi.json": AccessRow(resource: .nothing, own: 200),
        "GET /api/status": AccessRow(resource: .nothing, own: 200),
        "POST /api/lanes/retry": AccessRow(
            resource: .nothing,
            own: 204,
            body: #"{"Lane":"apns"}"#
        ),
        "POST /api/setup": AccessRow(resource: .nothing, own: 403, body: #"{"Code":"x"}"#),
        "GET /": AccessRow(resource: .nothing, own: 308),
        "GET /console": AccessRow(resource: .nothing, own: 308),
        "GET /console/": AccessRow(resource: .nothing, own: 200),
        "GET /console/{id}": AccessRow(resource: .file, own: 200, foreign: 200, missing: 404),
    ]
}

/// A caller: a stranger, a user with a password, or a user with a token.
struct AccessCaller: Sendable, CustomTestStringConvertible {
    let user: String?
    /// The token's scopes; `nil` with a password.
    var scopes: Scopes?

    static let all: [AccessCaller] =
        [AccessCaller(user: nil)]
        + ["alice", "vic", "paul", "ada"].flatMap { user in
            [AccessCaller(user: user)]
                + [[], .fetch, .send, .register, .manage, .view, .metrics].map { AccessCaller(user: user, scopes: $0) }
        }

    var role: Role? { self.user.flatMap { ServerFixture.roles[$0] } }

    var testDescription: String {
        guard let user else { return "a stranger" }
        return self.scopes.map { "\(user) with a token for \($0)" } ?? user
    }
}

extension String {
    /// A route's path in which an id, a topic and a device replace the placeholders.
    func filled(with id: String) -> String {
        self.replacing("{id}", with: id).replacing("{topic}", with: "news").replacing("{device}", with: "d-1")
    }
}
