/// The visible parts of a notification: those of Apple's `UNNotificationContent` that a payload
/// decides, as a value.
public struct NotificationContent: Sendable, Hashable {
    /// The first line.
    public var title: String
    /// The line below the title.
    public var subtitle: String
    /// The text.
    public var body: String
    /// The number on the app's icon; `nil` leaves it as it is, 0 removes it.
    public var badge: Int?
    /// Groups notifications in the list; if empty, the system groups by app.
    public var threadIdentifier: String
    /// Names the actions that the app has declared; if empty, it has no actions.
    public var categoryIdentifier: String

    /// Creates a content.
    public init(
        title: String = "",
        subtitle: String = "",
        body: String = "",
        badge: Int? = nil,
        threadIdentifier: String = "",
        categoryIdentifier: String = ""
    ) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.badge = badge
        self.threadIdentifier = threadIdentifier
        self.categoryIdentifier = categoryIdentifier
    }
}
