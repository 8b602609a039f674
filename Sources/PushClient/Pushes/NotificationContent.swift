public import Foundation

/// The parts of Apple's `UNNotificationContent` that a payload decides, as a value.
public struct NotificationContent: Sendable, Hashable {
    /// A file to show with the notification. The system moves it, and deletes it later.
    public struct Attachment: Sendable, Hashable {
        /// Distinguishes the attachments of one notification.
        public var identifier: String
        /// A local file whose name has the extension of its type, such as `png`.
        public var file: URL

        /// Creates an attachment.
        public init(identifier: String = "", file: URL) {
            self.identifier = identifier
            self.file = file
        }
    }

    /// A sound.
    public enum Sound: Sendable, Hashable {
        /// The system's own sound.
        case standard
        /// A file of the app, by its name; on a watch the system's own sound.
        case named(String)
        /// No sound.
        case silent
    }

    /// The importance of a notification.
    public enum InterruptionLevel: Sendable, Hashable {
        /// Joins the list without lighting the screen.
        case passive
        /// Lights the screen and makes a sound.
        case active
        /// Breaks through a focus; the app needs the entitlement for it.
        case timeSensitive
        /// Breaks through mute; the app needs Apple's entitlement for it.
        case critical
    }

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
    /// The sound; `nil` leaves the sound of the push itself.
    public var sound: Sound?
    /// The importance; `nil` leaves that of the push itself.
    public var interruptionLevel: InterruptionLevel?
    /// From 0 to 1: the place in the system's summary; `nil` leaves that of the push itself.
    public var relevanceScore: Double?
    /// The scene to open at a tap; `nil` leaves that of the push itself.
    public var targetContentIdentifier: String?
    /// Values added to the `userInfo` of the push itself, for the code that handles a tap.
    public var userInfo: [String: String] = [:]
    /// The images, sounds or videos.
    public var attachments: [Attachment] = []

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
