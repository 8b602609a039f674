import Foundation
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct APNsRulesTests {
    private static let good = SimulatedRequest(
        path: "/3/device/abcd",
        headers: [
            HeaderField("authorization", "bearer good"),
            HeaderField("apns-topic", "app"),
            HeaderField("apns-push-type", "alert"),
        ],
        body: Array(#"{"aps":{"alert":{"loc-key":"k"},"mutable-content":1}}"#.utf8)
    )
    private static let silent = #"{"aps":{"content-available":1}}"#

    /// Returns the valid request with changed headers. A header whose value is `nil` is removed.
    private static func request(_ changes: KeyValuePairs<String, String?>, body: String? = nil) -> SimulatedRequest {
        var request = self.good
        if let body { request.body = Array(body.utf8) }
        for (name, value) in changes {
            request.headers.removeAll { $0.name == name }
            if let value { request.headers.append(HeaderField(name, value)) }
        }
        return request
    }

    private func refusal(of request: SimulatedRequest, age: TimeInterval = 0) -> APNsRefusal.Reason? {
        var rules = APNsRules(topic: "app") { token throws(APNsRefusal) in
            guard token == "good" else { throw APNsRefusal(.invalidProviderToken) }
            return Tokens.now.addingTimeInterval(-age)
        }
        rules.retired["dead"] = Tokens.now
        do throws(APNsRefusal) {
            try rules.check(request, now: Tokens.now)
            return nil
        } catch {
            return error.reason
        }
    }

    /// The environment and app of a token, the environment of the push, and Apple's answer.
    @Test(arguments: [
        (APNsEnvironment.production, "app", APNsEnvironment.production, nil),
        (.sandbox, "app", .sandbox, nil),
        (.sandbox, "app", .production, APNsRefusal.Reason.badDeviceToken),
        (.production, "app", .sandbox, .badDeviceToken),
        (.production, "other", .production, .deviceTokenNotForTopic),
        (.production, "other", .sandbox, .badDeviceToken),
    ])
    func aTokenBelongsToOneEnvironmentAndApp(
        issuedIn: APNsEnvironment,
        topic: String,
        askedIn: APNsEnvironment,
        expected: APNsRefusal.Reason?
    ) {
        let devices = APNsDevices()
        devices.issue("ABCD", in: issuedIn, topic: topic)
        let rules = APNsRules(topic: "app", environment: askedIn, devices: devices) { _ throws(APNsRefusal) in
            Tokens.now
        }
        let refusal: APNsRefusal.Reason?
        do throws(APNsRefusal) {
            try rules.check(Self.good, now: Tokens.now)
            refusal = nil
        } catch {
            refusal = error.reason
        }
        #expect(refusal == expected)
    }

    @Test func aTokenThatHasExpiredIsGone() {
        var rules = APNsRules(topic: "app") { _ throws(APNsRefusal) in Tokens.now }
        rules.expired["abcd"] = Tokens.now
        let refusal = APNsRefusal(.expiredToken, retiredAt: Tokens.now)
        #expect(throws: refusal) { try rules.check(Self.good, now: Tokens.now) }
        #expect(refusal.status == 410)
    }

    @Test func aKeyMayBeValidInOneEnvironmentOnly() {
        var rules = APNsRules(topic: "app", environment: .sandbox) { _ throws(APNsRefusal) in Tokens.now }
        rules.keyEnvironments = [.production]
        #expect(throws: APNsRefusal(.badEnvironmentKeyIDInToken)) { try rules.check(Self.good, now: Tokens.now) }
    }

    @Test(arguments: [
        Self.good,
        Self.request(["authorization": "Bearer good"]),
        Self.request(["apns-priority": "10"]), Self.request(["apns-priority": "5"]),
        Self.request(["apns-priority": "1"]),
        Self.request(["apns-push-type": "background", "apns-priority": "5"], body: Self.silent),
        Self.request([:], body: #"{"aps":{"sound":"default"}}"#), Self.request([:], body: #"{"aps":{"badge":0}}"#),
        Self.request(["apns-push-type": "voip", "apns-topic": "app.voip"]),
        Self.request(["apns-expiration": "0"]), Self.request(["apns-expiration": "1800000000"]),
        Self.request(["apns-collapse-id": String(repeating: "x", count: 64)]),
        Self.request(["apns-id": "123e4567-e89b-42d3-a456-426614174000"]),
    ])
    func aValidRequestIsAccepted(request: SimulatedRequest) {
        #expect(self.refusal(of: request) == nil)
    }

    @Test(arguments: [
        (Self.request(["authorization": nil]), APNsRefusal.Reason.missingProviderToken),
        (Self.request(["authorization": ""]), .missingProviderToken),
        (Self.request(["authorization": "basic good"]), .missingProviderToken),
        (Self.request(["authorization": "bearer bad"]), .invalidProviderToken),
        (Self.request(["apns-topic": nil]), .missingTopic),
        (Self.request(["apns-topic": "other"]), .badTopic),
        (Self.request(["apns-topic": "app.voip"]), .badTopic),
        (Self.request(["apns-push-type": nil]), .invalidPushType),
        (Self.request([:], body: Self.silent), .invalidPushType), (Self.request([:], body: "{}"), .invalidPushType),
        (Self.request(["apns-push-type": "background", "apns-priority": "5"]), .invalidPushType),
        (Self.request(["apns-push-type": "Alert"]), .invalidPushType),
        (Self.request(["apns-push-type": "mdm"]), .topicDisallowed),
        (Self.request(["apns-push-type": "background"]), .badPriority),
        (Self.request(["apns-push-type": "background", "apns-priority": "10"]), .badPriority),
        (Self.request(["apns-priority": "2"]), .badPriority),
        (Self.request(["apns-priority": ""]), .badPriority),
        (Self.request(["apns-expiration": "-1"]), .badExpirationDate),
        (Self.request(["apns-expiration": "1.5"]), .badExpirationDate),
        (Self.request(["apns-expiration": ""]), .badExpirationDate),
        (Self.request(["apns-collapse-id": String(repeating: "x", count: 65)]), .badCollapseID),
        (Self.request(["apns-collapse-id": String(repeating: "é", count: 33)]), .badCollapseID),
        (Self.request(["apns-id": "123E4567-E89B-42D3-A456-426614174000"]), .badMessageID),
        (Self.request(["apns-id": "123e4567e89b42d3a456426614174000"]), .badMessageID),
    ])
    func anInvalidHeaderIsRefusedWithApplesReason(request: SimulatedRequest, reason: APNsRefusal.Reason) {
        #expect(self.refusal(of: request) == reason)
    }

    @Test func aHeaderGivenTwiceIsRefused() {
        var request = Self.good
        request.headers.append(HeaderField("apns-topic", "app"))
        #expect(self.refusal(of: request) == .duplicateHeaders)
    }

    @Test(arguments: [
        ("/3/device/abcd", nil), ("/3/device/ABCD", nil),
        ("/3/device/" + String(repeating: "a", count: 400), nil),
        ("/3/device/" + String(repeating: "a", count: 402), APNsRefusal.Reason.badDeviceToken),
        ("/3/device/abc", .badDeviceToken), ("/3/device/xyz0", .badDeviceToken), ("/3/device/ab/cd", .badDeviceToken),
        ("/3/device/", .missingDeviceToken), ("/3/device", .badPath), ("/2/device/abcd", .badPath), ("/", .badPath),
        ("/3/device/dead", .unregistered), ("/3/device/DEAD", .unregistered),
    ])
    func thePathNamesTheDevice(path: String, reason: APNsRefusal.Reason?) {
        var request = Self.good
        request.path = path
        #expect(self.refusal(of: request) == reason)
    }

    @Test func onlyPostIsAllowed() {
        var request = Self.good
        request.method = "GET"
        #expect(self.refusal(of: request) == .methodNotAllowed)
    }

    @Test(arguments: [
        ("alert", "app", 4096, nil), ("alert", "app", 4097, APNsRefusal.Reason.payloadTooLarge),
        ("voip", "app.voip", 5120, nil), ("voip", "app.voip", 5121, .payloadTooLarge),
    ])
    func thePayloadsSizeIsLimited(type: String, topic: String, size: Int, reason: APNsRefusal.Reason?) {
        var request = Self.request(["apns-push-type": type, "apns-topic": topic])
        let (start, end) = (#"{"aps":{"alert":""#, #""}}"#)
        request.body = Array((start + String(repeating: "a", count: size - start.count - end.count) + end).utf8)
        #expect(request.body.count == size)
        #expect(self.refusal(of: request) == reason)
    }

    @Test(arguments: [
        ("", APNsRefusal.Reason.payloadEmpty), ("[]", .payloadNotJSON), ("{", .payloadNotJSON), ("x", .payloadNotJSON),
    ])
    func thePayloadMustBeAnObject(text: String, reason: APNsRefusal.Reason) {
        var request = Self.good
        request.body = Array(text.utf8)
        #expect(self.refusal(of: request) == reason)
    }

    /// The push type must match the payload, and each member of `aps` must have its JSON type.
    @Test(arguments: [
        ("alert", #"{"badge":3}"#, nil), ("alert", #"{"badge":0}"#, nil), ("alert", #"{"sound":"ping.caf"}"#, nil),
        (
            "alert", #"{"alert":{"title-loc-key":"T","loc-key":"B"},"badge":3,"sound":"default","mutable-content":1}"#,
            nil
        ),
        ("alert", #"{"alert":"x","category":"c","thread-id":"t","interruption-level":"time-sensitive"}"#, nil),
        ("alert", #"{"badge":"3"}"#, APNsRefusal.Reason.payloadInvalid), ("alert", #"{"badge":-1}"#, .payloadInvalid),
        ("alert", #"{"sound":{"critical":1,"name":"default","volume":0.05},"interruption-level":"critical"}"#, nil),
        ("alert", #"{"sound":{"critical":1,"name":"x","volume":1}}"#, nil),
        ("alert", #"{"sound":{"critical":1,"name":"x","volume":1.1}}"#, .payloadInvalid),
        ("alert", #"{"sound":{"critical":2,"name":"x"}}"#, .payloadInvalid),
        ("alert", #"{"sound":{"critical":1,"name":""}}"#, .payloadInvalid),
        ("alert", #"{"sound":{"loud":1}}"#, .payloadInvalid),
        ("alert", #"{"badge":1.5}"#, .payloadInvalid), ("alert", #"{"sound":""}"#, .payloadInvalid),
        ("alert", #"{"alert":{"loc-key":1}}"#, .payloadInvalid), ("alert", #"{"alert":{"key":"K"}}"#, .payloadInvalid),
        ("alert", #"{"alert":"x","category":1}"#, .payloadInvalid),
        ("alert", #"{"alert":"x","interruption-level":"loud"}"#, .payloadInvalid),
        // The push has no alert that an extension could change, so `mutable-content` is invalid.
        ("alert", #"{"badge":3,"mutable-content":1}"#, .payloadInvalid),
        ("alert", #"{"content-available":1}"#, .invalidPushType), ("background", #"{"content-available":1}"#, nil),
        ("background", #"{"content-available":1,"badge":3}"#, .invalidPushType),
        ("background", #"{"content-available":1,"sound":"default"}"#, .invalidPushType),
    ])
    func thePayloadMustMatchThePushType(type: String, aps: String, reason: APNsRefusal.Reason?) {
        let priority = type == "background" ? "5" : "10"
        var request = Self.request(["apns-push-type": type, "apns-priority": priority])
        request.body = Array(#"{"aps":\#(aps)}"#.utf8)
        #expect(self.refusal(of: request) == reason)
    }

    @Test(arguments: [
        (0.0, nil), (3600, nil), (3601, APNsRefusal.Reason.expiredProviderToken), (-60, nil),
        (-61, .expiredProviderToken),
    ])
    func theTokenMayBeAtMostAnHourOld(age: TimeInterval, reason: APNsRefusal.Reason?) {
        #expect(self.refusal(of: Self.good, age: age) == reason)
    }

    @Test(arguments: [
        (APNsRefusal(.badDeviceToken), 400, #"{"reason":"BadDeviceToken"}"#),
        (APNsRefusal(.expiredProviderToken), 403, #"{"reason":"ExpiredProviderToken"}"#),
        (APNsRefusal(.badPath), 404, #"{"reason":"BadPath"}"#),
        (APNsRefusal(.methodNotAllowed), 405, #"{"reason":"MethodNotAllowed"}"#),
        (
            APNsRefusal(.unregistered, retiredAt: Date(timeIntervalSince1970: 1.25)), 410,
            #"{"reason":"Unregistered","timestamp":1250}"#
        ),
        (APNsRefusal(.payloadTooLarge), 413, #"{"reason":"PayloadTooLarge"}"#),
    ])
    func aRefusalHasApplesStatusAndBody(refusal: APNsRefusal, status: Int, json: String) {
        #expect(refusal.status == status)
        #expect(refusal.json == json)
    }
}
