/// What a notification shows: the parts of Apple's `UNNotificationContent` that a payload decides,
/// as a value.
public struct NotificationContent: Sendable, Hashable {
    /// The first line.
    public var title: String
    /// The line below the title.
    public var subtitle: String
    /// The text.
    public var body: String
    /// The number on the app's icon; `nil` leaves it as it is, 0 removes it.
    public var badge: Int?
    /// Groups notifications in the list; empty: by app.
    public var threadIdentifier: String
    /// Names the actions that the app has declared; empty: none.
    public var categoryIdentifier: String

    /// A content.
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
