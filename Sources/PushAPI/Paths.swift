/// The paths of the API.
public enum Paths {
    /// Registrations: `api/register` of Microsoft's tutorial.
    public static let register = "/api/register"
    /// Notifications: `api/notifications` of Microsoft's tutorial.
    public static let notifications = "/api/notifications"
    /// Marks several notifications as read.
    public static let readNotifications = "/api/notifications/read"
    /// Posts many notifications in one request.
    public static let notificationBatch = "/api/notifications/batch"

    /// Server-sent events for devices without a provider.
    public static let stream = "/api/stream"

    /// Users, for administrators.
    public static let users = "/api/users"
    /// The caller's own password.
    public static let ownPassword = "/api/users/current/password"

    /// Exchanges a password for a token.
    public static let sessions = "/api/sessions"
    /// The token with which the client authenticates this very request.
    public static let currentSession = "/api/sessions/current"

    /// The public key that browsers need to subscribe to Web Push.
    public static let webPushKey = "/api/webpush/key"

    /// The audit log, for viewers and administrators.
    public static let audit = "/api/audit"

    /// The failed pushes of all notifications, for viewers and administrators.
    public static let deliveries = "/api/deliveries"

    /// Explains the pushes of a user, a device or a notification, for viewers and administrators;
    /// a user's name is percent-encoded.
    public static func why(_ subject: String) -> String { "/api/why/\(subject)" }

    /// The outcomes of pushes, the first fetches of notifications and the ends of registrations,
    /// for viewers, publishers and administrators.
    public static let events = "/api/events"

    /// Creates the first administrator.
    public static let setup = "/api/setup"
    /// The server's status, for viewers and administrators.
    public static let status = "/api/status"
    /// Retries a paused lane at once.
    public static let retryLane = "/api/lanes/retry"

    /// The public keys of the answers' signatures.
    public static let signatureKeys = "/.well-known/sealpost-keys"
    /// The OpenAPI description of the API.
    public static let openAPI = "/openapi.json"

    /// Tokens, for administrators.
    public static let tokens = "/api/tokens"

    /// One user, whose name is percent-encoded.
    public static func user(_ name: String) -> String { "\(self.users)/\(name)" }

    /// The tags given to a user, whose name is percent-encoded.
    public static func userTags(_ name: String) -> String { "\(self.user(name))/tags" }

    /// Creates a code that gives a device of the user a token; the user's name is percent-encoded.
    public static func userEnrolment(_ name: String) -> String { "\(self.user(name))/enrolment" }

    /// Exchanges a code for a token.
    public static let enrolment = "/api/enrolment"

    /// One token, by its prefix.
    public static func token(_ prefix: String) -> String { "\(self.tokens)/\(prefix)" }

    /// One registration.
    public static func registration(_ id: String) -> String { "\(self.register)/\(id)" }

    /// Registrations of all users, for administrators.
    public static let devices = "/api/devices"

    /// One registration of any user, for administrators.
    public static func device(_ id: String) -> String { "\(self.devices)/\(id)" }

    /// Receives the code that was pushed to a registration's handle.
    public static func confirmation(_ id: String) -> String { "\(self.registration(id))/confirmation" }

    /// One topic of one registration's device; the topic is percent-encoded.
    public static func topic(_ topic: String, of id: String) -> String { "\(self.device(id))/topics/\(topic)" }

    /// The public keys of one registration's device, for end-to-end encryption.
    public static func deviceKey(_ id: String) -> String { "\(self.device(id))/key" }

    /// The public keys of the devices that a tag expression matches, for end-to-end encryption.
    public static let keys = "/api/keys"

    /// Sends a test push to one registration's device.
    public static func deviceTest(_ id: String) -> String { "\(self.device(id))/test" }

    /// One notification.
    public static func notification(_ id: Int64) -> String { "\(self.notifications)/\(id)" }

    /// Receives the recipient's confirmation that a read-once payload has arrived.
    public static func taken(_ id: Int64) -> String { "\(self.notification(id))/taken" }
}
