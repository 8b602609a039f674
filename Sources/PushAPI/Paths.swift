/// The paths of the API.
public enum Paths {
    /// Registrations: the tutorial's `api/register`.
    public static let register = "/api/register"
    /// Notifications: the tutorial's `api/notifications`.
    public static let notifications = "/api/notifications"
    /// Where several notifications are marked as read.
    public static let readNotifications = "/api/notifications/read"
    /// Where many notifications are posted in one request.
    public static let notificationBatch = "/api/notifications/batch"

    /// Server-sent events for devices that have no provider.
    public static let stream = "/api/stream"

    /// Users, for administrators.
    public static let users = "/api/users"
    /// The caller's own password.
    public static let ownPassword = "/api/users/current/password"

    /// Where a password is exchanged for a token.
    public static let sessions = "/api/sessions"
    /// The token of the request itself.
    public static let currentSession = "/api/sessions/current"

    /// The key that browsers subscribe with.
    public static let webPushKey = "/api/webpush/key"

    /// The audit log, for administrators.
    public static let audit = "/api/audit"

    /// What became of pushes, fetches and devices, for publishers and administrators.
    public static let events = "/api/events"

    /// Where the first administrator is made.
    public static let setup = "/api/setup"
    /// How the server is doing, for administrators.
    public static let status = "/api/status"
    /// Where a paused lane is tried at once.
    public static let retryLane = "/api/lanes/retry"

    /// The public keys that answers are signed with.
    public static let signatureKeys = "/.well-known/sealpost-keys"
    /// The OpenAPI description of the API.
    public static let openAPI = "/openapi.json"

    /// Tokens, for administrators.
    public static let tokens = "/api/tokens"

    /// One user, by a name that is percent-encoded.
    public static func user(_ name: String) -> String { "\(self.users)/\(name)" }

    /// The tags given to a user, whose name is percent-encoded.
    public static func userTags(_ name: String) -> String { "\(self.user(name))/tags" }

    /// Where a code is made with which a device of the user, whose name is percent-encoded, gets a
    /// token.
    public static func userEnrolment(_ name: String) -> String { "\(self.user(name))/enrolment" }

    /// Where a code is exchanged for a token.
    public static let enrolment = "/api/enrolment"

    /// One token, by its prefix.
    public static func token(_ prefix: String) -> String { "\(self.tokens)/\(prefix)" }

    /// One registration.
    public static func registration(_ id: String) -> String { "\(self.register)/\(id)" }

    /// Registrations of all users, for administrators.
    public static let devices = "/api/devices"

    /// One registration of any user, for administrators.
    public static func device(_ id: String) -> String { "\(self.devices)/\(id)" }

    /// Where the code that was pushed to a registration's handle is returned.
    public static func confirmation(_ id: String) -> String { "\(self.registration(id))/confirmation" }

    /// One topic of one registration's device; the topic is percent-encoded.
    public static func topic(_ topic: String, of id: String) -> String { "\(self.device(id))/topics/\(topic)" }

    /// Sends a test push to one registration's device.
    public static func deviceTest(_ id: String) -> String { "\(self.device(id))/test" }

    /// One notification.
    public static func notification(_ id: Int64) -> String { "\(self.notifications)/\(id)" }

    /// Where a recipient confirms that a payload that may be read once has arrived.
    public static func taken(_ id: Int64) -> String { "\(self.notification(id))/taken" }
}
