/// The alerts that publishers may choose. The operator configures lists of values and of
/// templates.
///
/// By default the policy allows no alerts: a push carries only the fixed alert text of its
/// provider's configuration.
package struct AlertPolicy: Sendable, Hashable {
    /// The values that a notification may have for each member of its alert.
    package var allowed: [AlertMember: Set<String>] = [:]
    /// The largest badge that a notification may set; `nil` if it may set no badge, not even 0.
    package var largestBadge: Int?
    /// Whole alerts by name. A notification may name any template, also one that has values which
    /// `allowed` lacks.
    package var templates: [String: PushAlert] = [:]

    /// The users who may send an alert with the interruption level `critical`.
    package var criticalPublishers: Set<Username> = []

    package init() {}

    package func allows(_ text: String, as member: AlertMember) -> Bool {
        self.allowed[member]?.contains(text) ?? false
    }

    package func allows(badge: Int) -> Bool {
        self.largestBadge.map { (0...$0).contains(badge) } ?? false
    }

    /// All values that a push may have for a member.
    package func values(of member: AlertMember) -> Set<String> {
        (self.allowed[member] ?? []).union(self.templates.values.compactMap { $0[member] })
    }
}
