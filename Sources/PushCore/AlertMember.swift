/// A member of an alert: a text that a push shows, or a value that tells the device how to show
/// the push. The raw value is the member's name in the configuration.
package enum AlertMember: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable {
    /// The name of a localised text in the app; the push shows this text as its title.
    case titleKey
    /// The name of a localised text in the app; the push shows this text as its body.
    case bodyKey
    /// The category: the app offers the actions of this category with the push.
    case category
    /// The thread: a device groups the pushes with the same thread.
    case thread
    /// The sound: the name of a sound that the app contains, or `default`.
    case sound
    /// The notification channel on Android.
    case channel
    /// How the push interrupts its reader, as an `InterruptionLevel`.
    case interruptionLevel
}

/// How a push interrupts its reader: Apple's `interruption-level`.
package enum InterruptionLevel: String, Sendable, CaseIterable {
    case passive, active
    case timeSensitive = "time-sensitive"
    /// The alert sounds even if the device is silent. Apple allows this level to few apps.
    case critical
}

extension AlertMember {
    /// The key under `alerts.allowed` that lists the member's allowed values.
    package var listKey: String {
        switch self {
        case .category: "categories"
        default: self.rawValue + "s"
        }
    }
}
