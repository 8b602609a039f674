import PushCore

/// Alerts that a publisher could choose.
enum AlertSamples {
    /// A template with a value for every member, and a badge.
    static let appointment: PushAlert = {
        var alert = PushAlert()
        alert.texts = [
            .titleKey: "APPOINTMENT_TITLE", .bodyKey: "APPOINTMENT_BODY", .category: "APPOINTMENT",
            .thread: "appointments", .sound: "bell.caf", .channel: "appointments", .interruptionLevel: "time-sensitive",
        ]
        alert.badge = 3
        alert.toastText = "An appointment"
        return alert
    }()

    static let badge: PushAlert = {
        var alert = PushAlert()
        alert.badge = 3
        return alert
    }()

    static func text(_ text: String, as member: AlertMember) -> PushAlert {
        var alert = PushAlert()
        alert[member] = text
        return alert
    }

    /// A policy that allows `appointment` and `badge`.
    static let policy: AlertPolicy = {
        var policy = AlertPolicy()
        policy.templates = ["appointment": Self.appointment]
        policy.largestBadge = 9999
        return policy
    }()
}
