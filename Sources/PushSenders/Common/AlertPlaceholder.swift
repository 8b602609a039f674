/// What a visible push to an Apple device shows until the app's extension has replaced it: names of texts and of a sound
/// that the app brings along, the same for every push.
///
/// The members are those of Apple's "Generating a remote notification".
package struct AlertPlaceholder: Sendable, Hashable {
    /// How a push interrupts its reader (`interruption-level`).
    package enum InterruptionLevel: String, Sendable, CaseIterable {
        case passive, active
        case timeSensitive = "time-sensitive"
    }

    /// The name of the title among the app's localized texts.
    package var titleKey: String?
    /// The name of the text. iOS shows the name itself if the app has no text of that name, so it is best plain English.
    package var bodyKey = "New notification"
    /// The name of a sound; `nil` is silence.
    package var sound: String? = "default"
    package var category: String?
    /// Pushes with the same thread are grouped.
    package var thread: String?
    package var interruptionLevel: InterruptionLevel?

    package init() {}

    /// The payload's member `aps`, as JSON.
    var aps: String {
        let title = self.titleKey.map { "\"title-loc-key\":\(JSONText.quoted($0))," } ?? ""
        let others = [
            ("sound", self.sound), ("category", self.category), ("thread-id", self.thread),
            ("interruption-level", self.interruptionLevel?.rawValue),
        ].compactMap { name, value in value.map { ",\"\(name)\":\(JSONText.quoted($0))" } }.joined()
        return "{\"alert\":{\(title)\"loc-key\":\(JSONText.quoted(self.bodyKey))}\(others),\"mutable-content\":1}"
    }
}
