package import PushCore

/// The content that a visible push to an Apple device shows until the app's extension has replaced
/// it: it contains the names of texts and of a sound in the app. The `PushAlert` of a notification
/// can replace single members.
///
/// The members are those of Apple's "Generating a remote notification".
package struct AlertPlaceholder: Sendable, Hashable {
    /// The name of the title among the app's localized texts.
    package var titleKey: String?
    /// The name of the body's text among the app's localized texts. iOS shows the name itself if
    /// the app has no text of that name, so plain English is best.
    package var bodyKey = "New notification"
    /// The name of a sound; `nil` for silence.
    package var sound: String? = "default"
    package var category: String?
    /// The thread: a device groups pushes with the same thread.
    package var thread: String?
    package var interruptionLevel: InterruptionLevel?
    /// The volume of a critical alert's sound, from 0 to 100.
    package var criticalVolume = 100

    package init() {}

    /// The payload's member `aps`, as JSON; the members of a notification's alert replace those of
    /// the placeholder. `unread` is the badge if the notification's alert has none.
    func aps(_ alert: PushAlert?, unread: Int? = nil) -> String {
        // If the alert has only a badge, the push contains no text. Apple then shows nothing, and
        // does not start the app's extension, which would have nothing to replace.
        if let alert, let badge = alert.badge, alert.isBadgeAlone { return "{\"badge\":\(badge)}" }
        let titleKey = alert?[.titleKey] ?? self.titleKey
        let title = titleKey.map { "\"title-loc-key\":\(JSONText.quoted($0))," } ?? ""
        let body = JSONText.quoted(alert?[.bodyKey] ?? self.bodyKey)
        let badge = (alert?.badge ?? unread).map { ",\"badge\":\($0)" } ?? ""
        let level = alert?[.interruptionLevel] ?? self.interruptionLevel?.rawValue
        let sound = (alert?[.sound] ?? self.sound).map(JSONText.quoted)
        let isCritical = level == InterruptionLevel.critical.rawValue
        let others = [
            ("sound", isCritical ? self.criticalSound(named: sound) : sound),
            ("category", (alert?[.category] ?? self.category).map(JSONText.quoted)),
            ("thread-id", (alert?[.thread] ?? self.thread).map(JSONText.quoted)),
            ("interruption-level", level.map(JSONText.quoted)),
        ].compactMap { name, value in value.map { ",\"\(name)\":\($0)" } }.joined()
        return "{\"alert\":{\(title)\"loc-key\":\(body)}\(badge)\(others),\"mutable-content\":1}"
    }

    /// The sound of a critical alert, which always has one.
    private func criticalSound(named name: String?) -> String {
        // Apple requires the volume as a decimal number from 0 to 1.
        let volume = self.criticalVolume >= 100 ? "1" : "0.\(String(100 + max(0, self.criticalVolume)).dropFirst())"
        return "{\"critical\":1,\"name\":\(name ?? "\"default\""),\"volume\":\(volume)}"
    }
}
