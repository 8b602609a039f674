public import Foundation

/// The parts of Apple's `UNNotificationContent` that an app derives from a payload, as a value.
public struct NotificationContent: Sendable, Hashable {
    /// A file to show with the notification. The system moves the file, and deletes it later.
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
        /// The sound in the app's file with this name. A watch plays the system's own sound.
        case named(String)
        /// No sound.
        case silent
    }

    /// The importance of a notification.
    public enum InterruptionLevel: Sendable, Hashable {
        /// The notification joins the list, without lighting the screen.
        case passive
        /// The notification lights the screen and makes a sound.
        case active
        /// The notification also appears during a focus. The app needs an entitlement for this
        /// level.
        case timeSensitive
        /// The notification makes a sound even on a muted device. The app needs a special
        /// entitlement from Apple for this level.
        case critical
    }

    /// The first line of the notification.
    public var title: String
    /// The line below the title.
    public var subtitle: String
    /// The text.
    public var body: String
    /// The number on the app's icon; `nil` leaves the present number, 0 removes it.
    public var badge: Int?
    /// Notifications with the same identifier form a group in the list; if it is empty, the system
    /// groups by app.
    public var threadIdentifier: String
    /// The category whose actions the notification offers, as the app has declared them; if it is
    /// empty, there are no actions.
    public var categoryIdentifier: String
    /// The sound; `nil` leaves the push's own sound.
    public var sound: Sound?
    /// The importance; `nil` leaves the push's own importance.
    public var interruptionLevel: InterruptionLevel?
    /// The relevance from 0 to 1, which determines the place in the system's summary; `nil` leaves
    /// the push's own relevance.
    public var relevanceScore: Double?
    /// The scene that a tap opens; `nil` leaves the push's own scene.
    public var targetContentIdentifier: String?
    /// Values that are added to the push's own `userInfo`, for the code that handles a tap.
    public var userInfo: [String: String] = [:]
    /// The images, sounds or videos that the notification shows.
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
