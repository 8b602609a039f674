/// A text that a push may show, or that its device may use to handle it, named as in the
/// configuration.
package enum AlertMember: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable {
    /// The name of the title among the localised texts of the app.
    case titleKey
    /// The name of the body among the localised texts of the app.
    case bodyKey
    /// The category of actions that the app offers with the push.
    case category
    /// Pushes with the same thread are grouped.
    case thread
    /// The name of a sound that the app has, or `default`.
    case sound
    /// Android's notification channel.
    case channel
    /// An `InterruptionLevel`.
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
