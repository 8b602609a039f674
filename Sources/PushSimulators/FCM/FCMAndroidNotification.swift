/// The fields of `AndroidNotification` in FCM's reference, by the type of their values.
enum FCMAndroidNotification {
    private static let texts: Set<String> = [
        "title", "body", "icon", "color", "sound", "tag", "click_action", "body_loc_key", "title_loc_key", "channel_id",
        "ticker", "event_time", "notification_priority", "visibility", "image", "proxy",
    ]
    private static let lists: Set<String> = ["body_loc_args", "title_loc_args", "vibrate_timings"]
    private static let flags: Set<String> = [
        "sticky", "local_only", "default_sound", "default_vibrate_timings", "default_light_settings",
        "bypass_proxy_notification",
    ]

    /// Throws the refusal for a field that is unknown or has a value of another type.
    static func check(_ notification: Any, path: String) throws(FCMRefusal) {
        guard let fields = notification as? [String: Any] else { throw .invalidValue(path) }
        for (name, value) in fields {
            let isGood: Bool
            switch name {
            case _ where Self.texts.contains(name): isGood = value is String
            case _ where Self.lists.contains(name): isGood = value is [String]
            case _ where Self.flags.contains(name): isGood = value is Bool
            case "notification_count": isGood = (value as? Int).map { $0 >= 0 } ?? false
            case "light_settings": isGood = value is [String: Any]
            default: throw .unknownName(name, in: path)
            }
            guard isGood else { throw .invalidValue("\(path).\(name)") }
        }
    }
}

extension FCMRefusal {
    static func invalidValue(_ field: String) -> FCMRefusal {
        .invalid(field, "Invalid value at '\(field)'.")
    }

    static func unknownName(_ name: String, in path: String) -> FCMRefusal {
        .invalid("\(path).\(name)", "Invalid JSON payload received. Unknown name \"\(name)\"")
    }
}
