internal import Bytes
internal import Foundation

/// The rules by which FCM accepts or refuses a message, apart from the check of the access token.
package struct FCMRules: Sendable {
    package let projectID: String
    /// The registration tokens and installation identifiers that are no longer in use.
    package var retired: Set<String> = []
    /// The tokens and identifiers that another project's app has registered.
    package var foreign: Set<String> = []
    /// The tokens and identifiers of Apple devices.
    package var apple: Set<String> = []
    /// Whether the project has a key with which FCM may send to APNs.
    package var hasAppleKey = true

    package init(projectID: String) {
        self.projectID = projectID
    }

    private static let targets: Set<String> = ["token", "topic", "condition", "fid"]
    private static let messageFields = targets.union([
        "name", "data", "notification", "android", "apns", "webpush", "fcm_options",
    ])
    private static let androidFields: Set<String> = [
        "collapse_key", "priority", "ttl", "restricted_package_name", "data", "notification", "fcm_options",
        "direct_boot_ok", "bandwidth_constrained_ok", "restricted_satellite_ok",
    ]
    private static let appleFields: Set<String> = ["headers", "payload", "fcm_options", "live_activity_token"]
    private static let dataLimit = 4096
    private static let topicDataLimit = 2048
    /// Twenty-eight days, in seconds.
    private static let longestLife = 2_419_200.0

    /// Checks that the request sends a message in this project; otherwise throws `notFound`.
    package func checkTarget(_ request: SimulatedRequest) throws(FCMRefusal) {
        let path = request.path.prefix { $0 != "?" }
        guard request.method == "POST", path == "/v1/projects/\(self.projectID)/messages:send" else {
            throw .notFound
        }
    }

    /// Checks a message; throws the refusal with which FCM answers.
    package func checkMessage(_ request: SimulatedRequest) throws(FCMRefusal) {
        let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
        guard type == "application/json" else { throw .invalid(nil, "The content type must be application/json.") }
        // The parser's error is ignored: the answer does not say where the JSON error is.
        guard let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any] else {
            throw .invalid(nil, "Invalid JSON payload received.")
        }
        try Self.checkNames(of: body, in: "", against: ["message", "validate_only"])
        guard let message = body["message"] as? [String: Any] else {
            throw .invalid("message", "Message is not set.")
        }
        try Self.checkNames(of: message, in: "message.", against: Self.messageFields)
        let target = try Self.target(of: message)
        try Self.checkData(message["data"], limit: target.field == "topic" ? Self.topicDataLimit : Self.dataLimit)
        if let android = message["android"] { try Self.checkAndroid(android) }
        if let apns = message["apns"] { try Self.checkApple(apns) }
        if self.foreign.contains(target.value) { throw .senderMismatch }
        if self.retired.contains(target.value) { throw .unregistered }
        if self.apple.contains(target.value), !self.hasAppleKey { throw .thirdPartyAuthentication }
    }

    private static func target(of message: [String: Any]) throws(FCMRefusal) -> (field: String, value: String) {
        let given = message.keys.filter(Self.targets.contains)
        guard let field = given.first, given.count == 1 else {
            throw .invalid("message", "Exactly one of token, topic, condition and fid must be set.")
        }
        guard let value = message[field] as? String, !value.isEmpty else {
            let text = "The registration token is not a valid FCM registration token"
            throw .invalid("message.\(field)", text, errorCode: "INVALID_ARGUMENT")
        }
        return (field, value)
    }

    private static func checkData(_ data: Any?, in path: String = "message.data", limit: Int) throws(FCMRefusal) {
        guard let data else { return }
        guard let data = data as? [String: String] else {
            throw .invalid(path, "Every value of data must be a string.")
        }
        for name in data.keys where name == "from" || name == "gcm" || name.hasPrefix("google") {
            throw .invalid(path, "Invalid data payload key: \(name)", errorCode: "INVALID_ARGUMENT")
        }
        guard data.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= limit else {
            // Google documents neither a field nor a code for the refusal of a message that is too
            // big.
            throw .invalid(nil, "Android message is too big")
        }
    }

    private static func checkAndroid(_ android: Any) throws(FCMRefusal) {
        guard let android = android as? [String: Any] else {
            throw .invalid("message.android", "Invalid value at 'message.android'.")
        }
        try Self.checkNames(of: android, in: "message.android.", against: Self.androidFields)
        if let priority = android["priority"] {
            guard let priority = priority as? String, ["NORMAL", "HIGH"].contains(priority.uppercased()) else {
                throw .invalid("message.android.priority", "Invalid value at 'message.android.priority'.")
            }
        }
        if let ttl = android["ttl"] {
            guard let text = ttl as? String, let seconds = Self.seconds(text), seconds <= Self.longestLife else {
                throw .invalid("message.android.ttl", "Invalid value at 'message.android.ttl'.")
            }
        }
        for field in ["collapse_key", "restricted_package_name"] {
            guard android[field] == nil || android[field] is String else {
                throw .invalidValue("message.android.\(field)")
            }
        }
        try Self.checkData(android["data"], in: "message.android.data", limit: Self.dataLimit)
        if let notification = android["notification"] {
            try FCMAndroidNotification.check(notification, path: "message.android.notification")
        }
    }

    /// Checks the part of a message that FCM passes on to APNs. Google documents the names of its
    /// members, and Apple their values. FCM itself refuses wrong values late or never.
    private static func checkApple(_ apple: Any) throws(FCMRefusal) {
        guard let apple = apple as? [String: Any] else { throw .invalidValue("message.apns") }
        try Self.checkNames(of: apple, in: "message.apns.", against: Self.appleFields)
        guard let headers = (apple["headers"] ?? [String: String]()) as? [String: String] else {
            throw .invalidValue("message.apns.headers")
        }
        guard let payload = (apple["payload"] ?? [String: Any]()) as? [String: Any] else {
            throw .invalidValue("message.apns.payload")
        }
        let aps = APNsPayload(aps: payload["aps"] as? [String: Any] ?? [:])
        // Without the header FCM chooses a suitable type.
        let type = headers["apns-push-type"].map { APNsPushType(rawValue: $0) } ?? .alert
        guard headers["apns-push-type"] == nil || type?.agrees(with: aps) == true else {
            throw .invalidValue("message.apns.headers.apns-push-type")
        }
        guard aps.isWellFormed else { throw .invalidValue("message.apns.payload.aps") }
    }

    private static func checkNames(
        of object: [String: Any],
        in path: String,
        against known: Set<String>
    ) throws(FCMRefusal) {
        guard let stranger = object.keys.first(where: { !known.contains($0) }) else { return }
        throw .invalid("\(path)\(stranger)", "Invalid JSON payload received. Unknown name \"\(stranger)\"")
    }

    /// A duration in the JSON of protocol buffers: seconds with at most nine decimals, and `s`.
    private static func seconds(_ text: String) -> Double? {
        guard text.hasSuffix("s") else { return nil }
        let parts = text.utf8.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2,
            zip(parts, [12, 9]).allSatisfy({ (1...$1).contains($0.count) && $0.allSatisfy(\.isDigit) })
        else { return nil }
        return Double(text.dropLast())
    }
}
