/// The member `aps` of a payload, as Apple's "Generating a remote notification" lists it.
///
/// Apple ignores or drops members with wrong types; the simulators refuse such members, so that a
/// test notices them.
struct APNsPayload {
    let aps: [String: Any]

    private static let alertTexts: Set<String> = [
        "title", "subtitle", "body", "launch-image", "title-loc-key", "subtitle-loc-key", "loc-key",
    ]
    private static let alertLists: Set<String> = ["title-loc-args", "subtitle-loc-args", "loc-args"]
    private static let levels: Set<String> = ["passive", "active", "time-sensitive", "critical"]

    /// Whether the device shows, plays or counts something.
    var isVisible: Bool { ["alert", "sound", "badge"].contains { self.aps[$0] != nil } }

    /// Whether all members have the right types, and a payload with `mutable-content` has an
    /// alert, which the app's extension can change.
    var isWellFormed: Bool {
        self.hasTexts && self.isAlert(self.aps["alert"]) && Self.isBadge(self.aps["badge"])
            && Self.isSound(self.aps["sound"])
            && (self.aps["mutable-content"] == nil
                || self.aps["mutable-content"] as? Int == 1 && self.aps["alert"] != nil)
    }

    private var hasTexts: Bool {
        let level = self.aps["interruption-level"]
        return ["category", "thread-id"].allSatisfy { self.aps[$0] == nil || self.aps[$0] is String }
            && (level == nil || (level as? String).map(Self.levels.contains) == true)
    }

    private func isAlert(_ alert: Any?) -> Bool {
        switch alert {
        case nil, is String: true
        case let members as [String: Any]:
            members.allSatisfy { name, value in
                Self.alertTexts.contains(name) && value is String || Self.alertLists.contains(name) && value is [String]
            }
        default: false
        }
    }

    private static func isBadge(_ badge: Any?) -> Bool {
        guard let badge else { return true }
        return (badge as? Int).map { $0 >= 0 } ?? false
    }

    private static func isSound(_ sound: Any?) -> Bool {
        switch sound {
        case nil: true
        case let members as [String: Any]: members.allSatisfy(self.isPartOfSound)
        case let name as String: !name.isEmpty
        default: false
        }
    }

    /// Whether a member with this name and value may be part of a critical alert's sound.
    private static func isPartOfSound(_ name: String, _ value: Any) -> Bool {
        switch name {
        case "critical": value as? Int == 0 || value as? Int == 1
        case "name": (value as? String)?.isEmpty == false
        case "volume": (value as? Double).map { (0...1).contains($0) } ?? false
        default: false
        }
    }
}
