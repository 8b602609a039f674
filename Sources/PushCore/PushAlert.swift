/// The alert that replaces the configuration's fixed alert text in the pushes of one notification.
///
/// It contains names of texts that are in the app, never a text of the payload. `AlertPolicy`
/// lists all allowed values except badges.
package struct PushAlert: Sendable, Hashable, Codable {
    /// The badges that a notification may set; 0 removes the badge.
    package static let badges = 0...9999

    package var texts: [AlertMember: String] = [:]
    /// The number on the app's icon.
    package var badge: Int?
    /// The fixed text of a toast on Windows, where an alert cannot name a text of the app. Only
    /// templates have such a text.
    package var toastText: String?

    package init() {}

    package subscript(_ member: AlertMember) -> String? {
        get { self.texts[member] }
        set { self.texts[member] = newValue }
    }

    /// Whether the push changes the badge and shows nothing.
    package var isBadgeAlone: Bool { self.badge != nil && self.texts.isEmpty && self.toastText == nil }
}
