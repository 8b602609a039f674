internal import PushCore

/// The content of a message to an Android device, in addition to its id.
package enum AndroidContent: Sendable, Hashable {
    /// Data for the app. The app decides what it shows; Android shows nothing by itself.
    case data
    /// A notification, which Android shows by itself while the app is not in the foreground.
    case notification(AndroidPlaceholder)

    /// The members of `message.android` that depend on the alert.
    func members(of push: Push) -> [String] {
        switch (self, push.alert) {
        case (.data, nil): []
        case (.data, let alert?): [Self.data(push, alert)]
        // An alert with only a badge is sent as data, for the app to handle. If it were sent as a
        // notification, Android would show an entry, because it shows no badge without an entry.
        case (.notification, let alert?) where alert.isBadgeAlone: [Self.data(push, alert)]
        case (.notification(let placeholder), let alert):
            ["\"notification\":\(placeholder.notification(alert, tag: push.collapseID))"]
        }
    }

    /// The member `data` for Android, which replaces the message's own `data`. All values are
    /// strings.
    private static func data(_ push: Push, _ alert: PushAlert) -> String {
        let badge = alert.badge.map { [(name: "badge", text: String($0))] } ?? []
        let members = (alert.named + badge).map { "\"\($0.name)\":\(JSONText.quoted($0.text))" }
        return "\"data\":{\(([push.idMembers] + members).joined(separator: ","))}"
    }
}

/// The visible part of a push on Android; the members are those of `AndroidNotification` in FCM's
/// reference.
package struct AndroidPlaceholder: Sendable, Hashable {
    /// The name of the title among the app's string resources; `nil` if Android shows the app's
    /// name as title.
    package var titleKey: String?
    /// The name of the text among the app's string resources.
    package var bodyKey: String?
    /// The text that is sent if there is no `bodyKey`. If a message had both, Android would show
    /// this text.
    package var text = "New notification"
    /// The name of a sound; `nil` is silence. From Android 8 on, the channel decides.
    package var sound: String? = "default"
    /// The notification channel, which the app has created; `nil` for the channel in the app's
    /// manifest.
    package var channel: String?

    package init() {}

    /// Writes the notification. On the device it replaces an earlier notification with the same
    /// `tag`.
    func notification(_ alert: PushAlert?, tag: String) -> String {
        let bodyKey = alert?[.bodyKey] ?? self.bodyKey
        let texts = [
            ("title_loc_key", alert?[.titleKey] ?? self.titleKey), ("body_loc_key", bodyKey),
            ("body", bodyKey == nil ? self.text : nil), ("channel_id", alert?[.channel] ?? self.channel),
            ("sound", alert?[.sound] ?? self.sound), ("tag", tag),
        ].compactMap { name, text in text.map { "\"\(name)\":\(JSONText.quoted($0))" } }
        let badge = alert?.badge.map { ["\"notification_count\":\($0)"] } ?? []
        return "{\((texts + badge).joined(separator: ","))}"
    }
}
