internal import Bytes
package import Foundation

/// The rules by which APNs accepts or refuses a request, apart from those that depend on the
/// connection.
///
/// These rules are stricter than Apple's in four ways, so that tests find mistakes. The push type
/// is required; the payload must be a JSON object; an alert or a background push must have the
/// payload of its type; the members of `aps` must have the types that Apple documents. Apple may
/// silently drop members with other types.
package struct APNsRules: Sendable {
    /// Returns the time at which a provider token was issued. Throws if the token is not signed by
    /// the provider that the simulator knows.
    package typealias TokenCheck = @Sendable (String) throws(APNsRefusal) -> Date

    /// The app's bundle identifier.
    package let topic: String
    package let environment: APNsEnvironment
    package let devices: APNsDevices
    /// The environments in which the provider's key is valid.
    package var keyEnvironments: Set<APNsEnvironment> = [.production, .sandbox]
    /// The tokens that are no longer in use, in lower case, with the time of their retirement.
    package var retired: [String: Date] = [:]
    /// The tokens that have expired, in lower case, with the time of their expiry.
    package var expired: [String: Date] = [:]
    package let tokenCheck: TokenCheck

    package init(
        topic: String,
        environment: APNsEnvironment = .production,
        devices: APNsDevices = APNsDevices(),
        tokenCheck: @escaping TokenCheck
    ) {
        self.topic = topic
        self.environment = environment
        self.devices = devices
        self.tokenCheck = tokenCheck
    }

    /// Checks a push; throws the refusal with which APNs answers.
    package func check(_ request: SimulatedRequest, now: Date) throws(APNsRefusal) {
        guard request.method == "POST" else { throw APNsRefusal(.methodNotAllowed) }
        guard request.path.hasPrefix("/3/device/") else { throw APNsRefusal(.badPath) }
        try self.checkProvider(request.header("authorization"), now: now)
        try Self.checkDuplicates(request)
        if let id = request.header("apns-id"), !Self.isCanonicalUUID(id) { throw APNsRefusal(.badMessageID) }
        let device = request.path.dropFirst("/3/device/".count).lowercased()
        guard !device.isEmpty else { throw APNsRefusal(.missingDeviceToken) }
        guard Self.isDeviceToken(device) else { throw APNsRefusal(.badDeviceToken) }
        let type = try self.checkTopic(request)
        try Self.checkPriority(request.header("apns-priority"), of: type)
        try Self.checkExpiration(request.header("apns-expiration"))
        if let id = request.header("apns-collapse-id"), !(1...64).contains(id.utf8.count) {
            throw APNsRefusal(.badCollapseID)
        }
        try Self.checkPayload(request.body, of: type)
        // For calls, an app has other tokens than for alerts, because PushKit issues the tokens
        // for calls.
        try self.devices.check(device, in: self.environment, topic: self.topic + (type.topicSuffix ?? ""))
        if let date = self.expired[device] { throw APNsRefusal(.expiredToken, retiredAt: date) }
        if let date = self.retired[device] { throw APNsRefusal(.unregistered, retiredAt: date) }
    }

    private static func checkDuplicates(_ request: SimulatedRequest) throws(APNsRefusal) {
        var seen: Set<String> = []
        for header in request.headers where header.name.hasPrefix("apns-") || header.name == "authorization" {
            guard seen.insert(header.name).inserted else { throw APNsRefusal(.duplicateHeaders) }
        }
    }

    private func checkProvider(_ authorization: String?, now: Date) throws(APNsRefusal) {
        guard let token = authorization.flatMap(Self.bearerToken) else { throw APNsRefusal(.missingProviderToken) }
        let issued = try self.tokenCheck(token)
        // Apple accepts a provider token for an hour. The simulator also accepts a token whose
        // time is a minute ahead.
        guard (-60...3600).contains(now.timeIntervalSince(issued)) else { throw APNsRefusal(.expiredProviderToken) }
        guard self.keyEnvironments.contains(self.environment) else { throw APNsRefusal(.badEnvironmentKeyIDInToken) }
    }

    private func checkTopic(_ request: SimulatedRequest) throws(APNsRefusal) -> APNsPushType {
        guard let topic = request.header("apns-topic"), !topic.isEmpty else { throw APNsRefusal(.missingTopic) }
        guard let type = request.header("apns-push-type").flatMap(APNsPushType.init) else {
            throw APNsRefusal(.invalidPushType)
        }
        guard let suffix = type.topicSuffix else { throw APNsRefusal(.topicDisallowed) }
        guard topic == self.topic + suffix else { throw APNsRefusal(.badTopic) }
        return type
    }

    private static func checkPriority(_ priority: String?, of type: APNsPushType) throws(APNsRefusal) {
        switch (priority ?? "10", type) {
        case ("5", .background): return
        case (_, .background): throw APNsRefusal(.badPriority)
        case ("1", _), ("5", _), ("10", _): return
        default: throw APNsRefusal(.badPriority)
        }
    }

    private static func checkExpiration(_ expiration: String?) throws(APNsRefusal) {
        guard let expiration else { return }
        guard expiration.utf8.allSatisfy(\.isDigit), UInt64(expiration) != nil else {
            throw APNsRefusal(.badExpirationDate)
        }
    }

    private static func checkPayload(_ body: [UInt8], of type: APNsPushType) throws(APNsRefusal) {
        guard !body.isEmpty else { throw APNsRefusal(.payloadEmpty) }
        guard body.count <= type.payloadLimit else { throw APNsRefusal(.payloadTooLarge) }
        // The parser's error is ignored: the answer does not say where the JSON error is.
        guard let payload = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] else {
            throw APNsRefusal(.payloadNotJSON)
        }
        let aps = APNsPayload(aps: payload["aps"] as? [String: Any] ?? [:])
        guard type.agrees(with: aps) else { throw APNsRefusal(.invalidPushType) }
        guard aps.isWellFormed else { throw APNsRefusal(.payloadInvalid) }
    }

    // MARK: - Forms

    private static func bearerToken(_ authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// Apple does not specify the length of a token; the upper limit only excludes texts that
    /// cannot be tokens.
    private static func isDeviceToken(_ token: String) -> Bool {
        (2...400).contains(token.utf8.count) && token.utf8.count.isMultiple(of: 2)
            && token.utf8.allSatisfy(Self.isLowercaseHexDigit)
    }

    private static func isCanonicalUUID(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(Self.isLowercaseHexDigit) }
    }

    private static func isLowercaseHexDigit(_ byte: UInt8) -> Bool {
        byte.isHexDigit && !byte.isUppercaseLetter
    }
}

/// The kinds of push that APNs distinguishes.
enum APNsPushType: String {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// The suffix after the bundle identifier in the topic; `nil` if provider tokens cannot send
    /// this type.
    var topicSuffix: String? {
        switch self {
        case .alert, .background, .controls: ""
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .mdm: nil
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        case .widgets: ".push-type.widgets"
        }
    }

    /// Whether the member `aps` of the payload suits this type of push.
    func agrees(with payload: APNsPayload) -> Bool {
        switch self {
        case .alert: payload.isVisible
        case .background: !payload.isVisible && payload.aps["content-available"] as? Int == 1
        default: true
        }
    }

    /// The longest payload, in bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }
}
