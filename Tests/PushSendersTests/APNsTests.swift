import Cryptography
import CurlHTTP
import Foundation
import PushCore
import PushTesting
import Reactor
import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct APNsRequestTests {
    private func request(
        _ push: Push,
        _ envelope: AppleEnvelope = .background,
        endpoint: String = "https://api.push.apple.com"
    ) throws -> OutboundRequest {
        let endpoint = try #require(OutboundURL(endpoint))
        return try APNsRequest(endpoint: endpoint, topic: "com.example.app", envelope: envelope, timeout: .seconds(9))
            .make(push, token: Secret("TOKEN"))
    }

    @Test func aBackgroundPushIsExactlyThis() throws {
        let request = try self.request(Samples.push(priority: .high))
        #expect(request.method == .post)
        #expect(request.url.text == "https://api.push.apple.com/3/device/abcdef0123456789")
        #expect(
            request.headers == [
                .init("authorization", "bearer TOKEN"),
                .init("apns-id", "8c2f9f43-7d2d-4d8b-9a55-0c1e8e6c2a11"),
                .init("apns-push-type", "background"),
                .init("apns-priority", "5"),
                .init("apns-expiration", "1800086400"),
                .init("apns-topic", "com.example.app"),
                .init("apns-collapse-id", "8c2f9f437d2d4d8b9a550c1e8e6c2a11"),
            ]
        )
        #expect(request.bodyText == #"{"aps":{"content-available":1},"secureId":"7"}"#)
        #expect(request.timeout == .seconds(9))
    }

    /// Apple refuses a call with a topic that does not end with `.voip`. The push expires
    /// immediately, so that a phone that is offline does not ring later.
    @Test(arguments: [Push.Priority.high, .normal])
    func aCallIsExactlyThis(priority: Push.Priority) throws {
        let request = try self.request(Samples.push(priority: priority, alert: AlertSamples.appointment), .voip)
        #expect(
            request.headers == [
                .init("authorization", "bearer TOKEN"),
                .init("apns-id", "8c2f9f43-7d2d-4d8b-9a55-0c1e8e6c2a11"),
                .init("apns-push-type", "voip"),
                .init("apns-priority", "10"),
                .init("apns-expiration", "0"),
                .init("apns-topic", "com.example.app.voip"),
                .init("apns-collapse-id", "8c2f9f437d2d4d8b9a550c1e8e6c2a11"),
            ]
        )
        #expect(request.bodyText == #"{"aps":{},"secureId":"7"}"#)
    }

    @Test(arguments: [(Push.Priority.high, "10"), (.normal, "5")])
    func anAlertIsExactlyThis(priority: Push.Priority, expected: String) throws {
        let push = try Samples.push(id: 9_007_199_254_740_991, priority: priority)
        let request = try self.request(push, .alert(AlertPlaceholder()))
        #expect(request.header("apns-push-type") == "alert")
        #expect(request.header("apns-priority") == expected)
        #expect(
            request.bodyText
                == #"{"aps":{"alert":{"loc-key":"New notification"},"sound":"default","mutable-content":1},"#
                + #""secureId":"9007199254740991"}"#
        )
    }

    @Test func anAlertIsWhatTheGuideShows() throws {
        let request = try self.request(Samples.push(id: 4711), .alert(AlertPlaceholder()))
        let guide = try Repository.text(of: "docs/providers.md")
        #expect(guide.matches(of: /```json\n(.*)\n```/).map { String($0.output.1) } == [request.bodyText])
    }

    @Test func anAlertHasTheTextsThatAreConfigured() throws {
        var placeholder = AlertPlaceholder()
        placeholder.titleKey = "TITLE"
        placeholder.bodyKey = #"A "body""#
        placeholder.sound = "ping.caf"
        placeholder.category = "LETTER"
        placeholder.thread = "letters"
        placeholder.interruptionLevel = .timeSensitive
        #expect(
            try self.request(Samples.push(), .alert(placeholder)).bodyText
                == #"{"aps":{"alert":{"title-loc-key":"TITLE","loc-key":"A \"body\""},"sound":"ping.caf","#
                + #""category":"LETTER","thread-id":"letters","interruption-level":"time-sensitive","mutable-content":1},"#
                + #""secureId":"7"}"#
        )
        placeholder = AlertPlaceholder()
        placeholder.sound = nil
        #expect(try !self.request(Samples.push(), .alert(placeholder)).bodyText.contains("sound"))
    }

    @Test func theCollapseIDOfSeveralPushesIsSentInPlaceOfTheirOwn() throws {
        #expect(try self.request(Samples.push(sharedCollapseID: "inbox")).header("apns-collapse-id") == "inbox")
    }

    @Test(arguments: [
        "", "a", "abc", "xy", "ab cd", "ab/cd", "../../x", "abcd?x=1", "ab\r\n", "éé",
        String(repeating: "ab", count: 201),
    ])
    func aMalformedDeviceTokenIsReportedAsGone(handle: String) throws {
        let push = try Samples.push(handle: handle)
        #expect(throws: SendFailure.deviceGone(reason: "not a device token")) { try self.request(push) }
        #expect(!APNsHandleRule().takes(handle))
    }

    @Test(arguments: ["ab", "AB01", String(repeating: "ab", count: 200)])
    func deviceTokensOfUpTo400DigitsAreAccepted(handle: String) {
        #expect(APNsHandleRule().takes(handle))
    }
}

@Suite(.timeLimit(.minutes(5))) struct APNsResponseTests {
    @Test(arguments: [
        (400, "BadDeviceToken", SendOutcome.failure(.deviceUnknown(reason: "BadDeviceToken"))),
        (400, "DeviceTokenNotForTopic", .failure(.deviceUnknown(reason: "DeviceTokenNotForTopic"))),
        (400, "BadCollapseId", .failure(.rejected(reason: "BadCollapseId"))),
        (400, "BadExpirationDate", .failure(.rejected(reason: "BadExpirationDate"))),
        (400, "BadMessageId", .failure(.rejected(reason: "BadMessageId"))),
        (400, "DuplicateHeaders", .failure(.rejected(reason: "DuplicateHeaders"))),
        (400, "PayloadEmpty", .failure(.rejected(reason: "PayloadEmpty"))),
        (400, "BadPriority", .failure(.misconfigured(reason: "BadPriority"))),
        (400, "InvalidPushType", .failure(.misconfigured(reason: "InvalidPushType"))),
        (400, "BadTopic", .failure(.misconfigured(reason: "BadTopic"))),
        (400, "MissingTopic", .failure(.misconfigured(reason: "MissingTopic"))),
        (400, "TopicDisallowed", .failure(.misconfigured(reason: "TopicDisallowed"))),
        (400, "IdleTimeout", .failure(.unavailable(reason: "IdleTimeout"))),
        (400, "MissingDeviceToken", .failure(.rejected(reason: "MissingDeviceToken"))),
        (400, "BadCertificate", .failure(.misconfigured(reason: "BadCertificate"))),
        (410, "SomethingNew", .failure(.deviceGone(reason: "SomethingNew"))),
        (429, "SomethingNew", .failure(.overloaded(reason: "SomethingNew", retryAfter: .seconds(60)))),
        (403, "SomethingNew", .failure(.misconfigured(reason: "SomethingNew"))),
        (
            500, "SomethingNew",
            .failure(.unavailable(reason: "SomethingNew", retryAfter: .seconds(900), sparesFirst: true))
        ),
        (
            503, "SomethingNew",
            .failure(.unavailable(reason: "SomethingNew", retryAfter: .seconds(900), sparesFirst: true))
        ),
        (
            599, "SomethingNew",
            .failure(.unavailable(reason: "SomethingNew", retryAfter: .seconds(900), sparesFirst: true))
        ),
        (400, "SomethingNew", .failure(.rejected(reason: "SomethingNew"))),
        (403, "BadCertificate", .failure(.misconfigured(reason: "BadCertificate"))),
        (403, "BadCertificateEnvironment", .failure(.misconfigured(reason: "BadCertificateEnvironment"))),
        (403, "ExpiredProviderToken", .failure(.credentialExpired(reason: "ExpiredProviderToken"))),
        (403, "InvalidProviderToken", .failure(.credentialRefused(reason: "InvalidProviderToken"))),
        (403, "MissingProviderToken", .failure(.misconfigured(reason: "MissingProviderToken"))),
        (403, "UnrelatedKeyIdInToken", .failure(.misconfigured(reason: "UnrelatedKeyIdInToken"))),
        (403, "BadEnvironmentKeyIdInToken", .failure(.misconfigured(reason: "BadEnvironmentKeyIdInToken"))),
        (403, "Forbidden", .failure(.misconfigured(reason: "Forbidden"))),
        (404, "BadPath", .failure(.misconfigured(reason: "BadPath"))),
        (405, "MethodNotAllowed", .failure(.misconfigured(reason: "MethodNotAllowed"))),
        (410, "Unregistered", .failure(.deviceGone(reason: "Unregistered"))),
        (410, "ExpiredToken", .failure(.deviceGone(reason: "ExpiredToken"))),
        (413, "PayloadTooLarge", .failure(.rejected(reason: "PayloadTooLarge"))),
        (
            429, "TooManyProviderTokenUpdates",
            .failure(.overloaded(reason: "TooManyProviderTokenUpdates", retryAfter: .seconds(60)))
        ),
        (429, "TooManyRequests", .failure(.deviceBusy(reason: "TooManyRequests", retryAfter: .seconds(60)))),
        (
            500, "InternalServerError",
            .failure(.unavailable(reason: "InternalServerError", retryAfter: .seconds(900), sparesFirst: true))
        ),
        (
            503, "ServiceUnavailable",
            .failure(.unavailable(reason: "ServiceUnavailable", retryAfter: .seconds(900), sparesFirst: true))
        ),
        (503, "Shutdown", .failure(.unavailable(reason: "Shutdown"))),
    ])
    func eachReasonHasItsConsequence(status: Int, reason: String, expected: SendOutcome) {
        let response = Samples.response(status, #"{"reason":"\#(reason)"}"#)
        #expect(APNsResponse.outcome(response, now: Samples.now) == expected)
    }

    @Test func aTwoHundredIsAccepted() {
        let response = Samples.response(200, "", ["apns-id": "8c2f9f43-7d2d-4d8b-9a55-0c1e8e6c2a11"])
        let acceptance = Acceptance(providerID: "8c2f9f43-7d2d-4d8b-9a55-0c1e8e6c2a11")
        #expect(APNsResponse.outcome(response, now: Samples.now) == .success(acceptance))
    }

    @Test func theTimeOfADeadTokenIsInMilliseconds() {
        let response = Samples.response(410, #"{"reason":"Unregistered","timestamp":1454948015990}"#)
        let since = Date(timeIntervalSince1970: 1_454_948_015.990)
        #expect(
            APNsResponse.outcome(response, now: Samples.now)
                == .failure(.deviceGone(reason: "Unregistered", since: since))
        )
    }

    @Test func aRetryAfterIsHonoured() {
        let response = Samples.response(503, #"{"reason":"ServiceUnavailable"}"#, ["retry-after": "5"])
        #expect(
            APNsResponse.outcome(response, now: Samples.now)
                == .failure(.overloaded(reason: "ServiceUnavailable", retryAfter: .seconds(5)))
        )
    }

    @Test(arguments: [
        (
            502, "<html>",
            SendOutcome.failure(.unavailable(reason: "HTTP 502", retryAfter: .seconds(900), sparesFirst: true))
        ),
        (400, "", .failure(.rejected(reason: "HTTP 400"))),
        (400, #"{"reason":"two words\nand more"}"#, .failure(.rejected(reason: "HTTP 400"))),
        (302, "", .failure(.misconfigured(reason: "HTTP 302"))),
        (204, "", .failure(.unavailable(reason: "HTTP 204"))),
    ])
    func anAnswerThatIsNotApplesIsJudgedByItsStatus(status: Int, body: String, expected: SendOutcome) {
        #expect(APNsResponse.outcome(Samples.response(status, body), now: Samples.now) == expected)
    }
}

@Suite(.timeLimit(.minutes(5))) struct APNsProviderTokenTests {
    private func makeTokens() throws -> APNsProviderToken {
        let key = Secret(Samples.key.pemRepresentation)
        return try APNsProviderToken(key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
    }

    @Test func aTokenIsAStandardES256JWTOfKeyTeamAndTime() throws {
        let token = try DecodedToken(self.makeTokens().token(now: Samples.now).text.exposed)
        #expect(token.header == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(token.claims == #"{"iss":"DEF123GHIJ","iat":1800000000}"#)
        #expect(token.signature.count == 64)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: token.signature)
        #expect(Samples.key.publicKey.isValidSignature(signature, for: token.signedText))
    }

    @Test(arguments: [(0.0, true), (2999, true), (3000, false), (-60, true), (-61, false)])
    func aTokenIsReusedForFiftyMinutesUnlessTheClockIsSetBack(age: TimeInterval, isSame: Bool) throws {
        let tokens = try self.makeTokens()
        let first = try tokens.token(now: Samples.now)
        let second = try tokens.token(now: Samples.now + age)
        #expect((first.text.exposed == second.text.exposed) == isSame)
    }

    @Test func aTokenYoungerThanTwentyMinutesIsNotReplaced() throws {
        let tokens = try self.makeTokens()
        let refused = try tokens.token(now: Samples.now)
        guard case .tooYoung = try tokens.replacement(for: refused, now: Samples.now + 1199) else {
            Issue.record("replaced too soon")
            return
        }
        guard case .made(let fresh) = try tokens.replacement(for: refused, now: Samples.now + 1200) else {
            Issue.record("not replaced")
            return
        }
        guard case .alreadyMade(let same) = try tokens.replacement(for: refused, now: Samples.now + 1201) else {
            Issue.record("replaced twice")
            return
        }
        #expect(fresh.text.exposed == same.text.exposed)
    }

    @Test func concurrentRequestsGetTheSameToken() async throws {
        let tokens = try self.makeTokens()
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try tokens.token(now: Samples.now).text.exposed } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(texts.count == 1)
    }
}

@Suite(.timeLimit(.minutes(5))) struct APNsSettingsTests {
    private static let good = APNsSettings(
        key: Secret(Samples.key.pemRepresentation),
        keyID: "ABC123DEFG",
        teamID: "DEF123GHIJ",
        topic: "com.example.app",
        envelope: .background
    )

    private func error(_ change: (inout APNsSettings) -> Void) throws -> SenderSettingsError? {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        var settings = Self.good
        change(&settings)
        do throws(SenderSettingsError) {
            _ = try APNsSender(settings, on: loop)
            return nil
        } catch {
            return error
        }
    }

    @Test func theErrorNamesWhatIsWrong() throws {
        // A key that `openssl genpkey` made for this test. Nothing else uses it.
        let p384 = """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBkAEiDJyEQW+XBwZdp
            x3YDAANslzJX/BKlfVvzeHG86x8stx1/srhEs3tYE1MQLG2hZANiAATXVT4UElJZ
            Eu+kh/voA5uQdQHpY8mNHvLwC7wXhSZGg6Lv7p05nExMKZCGlFhQGDgpX0TgZRVA
            FpMuEdP11mKCCv/iKVxHro6YUOfTbAs+v8YCWjvGGUBFcm8jvk71oe4=
            -----END PRIVATE KEY-----
            """
        let badKey = SenderSettingsError.badKey(
            field: "keyFile",
            expected: "a P-256 private key in PEM, as in Apple's .p8 file"
        )
        #expect(try self.error { _ in } == nil)
        #expect(try self.error { $0.key = Secret("nonsense") } == badKey)
        #expect(try self.error { $0.key = Secret(p384) } == badKey)
        #expect(try self.error { $0.key = Secret(Samples.key.publicKey.pemRepresentation) } == badKey)
        let identifier = "ten letters and digits"
        #expect(try self.error { $0.keyID = "short" } == .badValue(field: "keyID", expected: identifier))
        #expect(try self.error { $0.teamID = "\"},{\"x\":\"" } == .badValue(field: "teamID", expected: identifier))
        #expect(try self.error { $0.topic = "" }?.description == "topic: must be the app's bundle identifier")
        #expect(try self.error { $0.topic = "a\r\nb" } != nil)
        #expect(try self.error { $0.endpoint = "http://a" } == .badValue(field: "endpoint", expected: "an https URL"))
        #expect(try self.error { $0.connection.connections = 0 }?.description.hasPrefix("connections:") == true)
        #expect(try self.error { $0.connection.streams = 1001 }?.description.hasPrefix("streams:") == true)
        #expect(try self.error { $0.connection.caFile = "/nowhere" }?.description.hasPrefix("caFile:") == true)
    }

    @Test func theKeyIsNeverPrinted() {
        let secret = Samples.key.pemRepresentation.split(separator: "\n")[1]
        var text = ""
        dump(Self.good, to: &text)
        #expect(!text.contains(secret))
        #expect(!"\(Self.good)".contains(secret))
    }
}
