/// The paths of the API.
public enum Paths {
    /// Registrations: the tutorial's `api/register`.
    public static let register = "/api/register"
    /// Notifications: the tutorial's `api/notifications`.
    public static let notifications = "/api/notifications"

    /// One registration.
    public static func registration(_ id: String) -> String { "\(self.register)/\(id)" }

    /// One notification.
    public static func notification(_ id: Int64) -> String { "\(self.notifications)/\(id)" }
}
