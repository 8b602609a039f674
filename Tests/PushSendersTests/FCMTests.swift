import Cryptography
import CurlHTTP
import Foundation
import PushCore
import Reactor
import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct FCMRequestTests {
    private func request(
        _ push: Push,
        apple: AppleEnvelope? = nil,
        android: AndroidContent = .data
    ) throws -> OutboundRequest {
        let url = try #require(OutboundURL("https://fcm.googleapis.com/v1/projects/p/messages:send"))
        return try FCMRequest(url: url, apple: apple, android: android, timeout: .seconds(9))
            .make(push, token: Secret("TOKEN"), now: Samples.now)
    }

    @Test func aMessageIsExactlyThis() throws {
        let request = try self.request(Samples.push(handle: "tok:en", priority: .high, sharedCollapseID: "inbox"))
        #expect(request.url.text == "https://fcm.googleapis.com/v1/projects/p/messages:send")
        #expect(
            request.headers == [
                .init("authorization", "Bearer TOKEN"), .init("content-type", "application/json"),
            ]
        )
        #expect(
            request.bodyText
                == #"{"message":{"token":"tok:en","data":{"secureId":"7"},"#
                + #""android":{"priority":"HIGH","ttl":"86400s","collapse_key":"inbox"}}}"#
        )
    }

    @Test(arguments: [
        (AppleEnvelope.background, "background", "5", #"{"content-available":1}"#),
        (
            .alert(AlertPlaceholder()), "alert", "10",
            #"{"alert":{"loc-key":"New notification"},"sound":"default","mutable-content":1}"#
        ),
    ])
    func appleDevicesGetTheHeadersAndPayloadOfAPNs(
        envelope: AppleEnvelope,
        type: String,
        priority: String,
        aps: String
    ) throws {
        let body = try self.request(Samples.push(priority: .high), apple: envelope).bodyText
        #expect(
            body.hasSuffix(
                #","apns":{"headers":{"apns-push-type":"\#(type)","apns-priority":"\#(priority)","#
                    + #""apns-expiration":"1800086400","apns-collapse-id":"8c2f9f437d2d4d8b9a550c1e8e6c2a11"},"#
                    + #""payload":{"aps":\#(aps)}}}}"#
            )
        )
    }

    @Test(arguments: [(-1.0, "0s"), (0, "0s"), (1.9, "1s"), (2_419_200, "2419200s"), (9e9, "2419200s")])
    func theTimeToLiveIsTheRemainingTimeUpToFourWeeks(left: TimeInterval, expected: String) throws {
        let body = try self.request(Samples.push(expiresIn: left)).bodyText
        #expect(body.hasSuffix(#""android":{"priority":"NORMAL","ttl":"\#(expected)"}}}"#))
    }

    @Test func foreignTextIsEscapedInTheJSON() throws {
        let push = try Samples.push(handle: #"a","x":"b\"#, sharedCollapseID: "k\"\n")
        let object = try JSONSerialization.jsonObject(with: Data(self.request(push).body))
        let message = (object as? [String: Any])?["message"] as? [String: Any]
        #expect(message?["token"] as? String == #"a","x":"b\"#)
        #expect((message?["android"] as? [String: Any])?["collapse_key"] as? String == "k\"\n")
        #expect(message?.count == 3)
    }

    @Test func anInstallationIDHasAFieldOfItsOwn() throws {
        let body = try self.request(Samples.push(handle: "fid:cXyZ0123456789abcdef-_")).bodyText
        #expect(body.hasPrefix(#"{"message":{"fid":"cXyZ0123456789abcdef-_","data""#))
        // Today's registration tokens begin in the same way as installation ids. Only the prefix
        // `fid:` shows which of the two a handle is.
        let token = try self.request(Samples.push(handle: "cXyZ0123456789abcdef-_:APA91b")).bodyText
        #expect(token.hasPrefix(#"{"message":{"token":"cXyZ0123456789abcdef-_:APA91b","data""#))
    }

    @Test(arguments: [
        "", "a b", "a\n", "é", String(repeating: "x", count: 4097), "fid:", "fid:cXyZ0123456789abcdef-", "fid:a+b",
        "fid:cXyZ0123456789abcdef-_x",
    ])
    func aMalformedRegistrationTokenIsReportedAsGone(handle: String) throws {
        let push = try Samples.push(handle: handle)
        #expect(throws: SendFailure.deviceGone(reason: "not a registration token")) { try self.request(push) }
        #expect(!FCMHandleRule().takes(handle))
    }
}

@Suite(.timeLimit(.minutes(5))) struct FCMResponseTests {
    private static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static func violation(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    @Test(arguments: [
        (
            400, "INVALID_ARGUMENT", violation("message.token"),
            SendOutcome.failure(.deviceUnknown(reason: "INVALID_ARGUMENT"))
        ),
        (
            400, "INVALID_ARGUMENT", violation("message.fid"),
            .failure(.deviceUnknown(reason: "INVALID_ARGUMENT"))
        ),
        (400, "INVALID_ARGUMENT", fcm("INVALID_ARGUMENT"), .failure(.rejected(reason: "INVALID_ARGUMENT"))),
        (400, "INVALID_ARGUMENT", violation("message.android.ttl"), .failure(.rejected(reason: "INVALID_ARGUMENT"))),
        (400, "INVALID_ARGUMENT", "", .failure(.rejected(reason: "INVALID_ARGUMENT"))),
        (401, "UNAUTHENTICATED", "", .failure(.credentialExpired(reason: "UNAUTHENTICATED"))),
        (
            401, "UNAUTHENTICATED", fcm("THIRD_PARTY_AUTH_ERROR"),
            .failure(.kindRefused(reason: "THIRD_PARTY_AUTH_ERROR"))
        ),
        (403, "PERMISSION_DENIED", fcm("SENDER_ID_MISMATCH"), .failure(.deviceUnknown(reason: "SENDER_ID_MISMATCH"))),
        (403, "PERMISSION_DENIED", "", .failure(.misconfigured(reason: "PERMISSION_DENIED"))),
        (404, "NOT_FOUND", fcm("UNREGISTERED"), .failure(.deviceGone(reason: "UNREGISTERED"))),
        (404, "NOT_FOUND", "", .failure(.deviceNotFound(reason: "NOT_FOUND"))),
        (
            429, "RESOURCE_EXHAUSTED", fcm("QUOTA_EXCEEDED"),
            .failure(.deviceBusy(reason: "QUOTA_EXCEEDED", retryAfter: .seconds(60)))
        ),
        (500, "INTERNAL", fcm("INTERNAL"), .failure(.unavailable(reason: "INTERNAL", retryAfter: .seconds(10)))),
        (
            503, "UNAVAILABLE", fcm("UNAVAILABLE"),
            .failure(.unavailable(reason: "UNAVAILABLE", retryAfter: .seconds(10)))
        ),
    ])
    func eachCodeHasItsConsequence(status: Int, name: String, detail: String, expected: SendOutcome) {
        let body = #"{"error":{"code":\#(status),"message":"m","status":"\#(name)","details":[\#(detail)]}}"#
        #expect(FCMResponse.outcome(Samples.response(status, body), now: Samples.now) == expected)
    }

    @Test func theRegistrationTokenMessageCountsOnlyWithAnFCMErrorCode() {
        let message = "The registration token is not a valid FCM registration token"
        let detail = Self.fcm("INVALID_ARGUMENT")
        for (details, expected) in [
            (detail, SendOutcome.failure(.deviceUnknown(reason: "INVALID_ARGUMENT"))),
            ("", .failure(.rejected(reason: "INVALID_ARGUMENT"))),
        ] {
            let body = #"{"error":{"message":"\#(message)","status":"INVALID_ARGUMENT","details":[\#(details)]}}"#
            #expect(FCMResponse.outcome(Samples.response(400, body), now: Samples.now) == expected)
        }
    }

    @Test(arguments: [
        (404, "<html>", SendOutcome.failure(.deviceNotFound(reason: "HTTP 404"))),
        (502, "<html>", .failure(.unavailable(reason: "HTTP 502", retryAfter: .seconds(7)))),
        (429, "", .failure(.deviceBusy(reason: "HTTP 429", retryAfter: .seconds(7)))),
        (503, "", .failure(.overloaded(reason: "HTTP 503", retryAfter: .seconds(7)))),
        (504, "", .failure(.unavailable(reason: "HTTP 504", retryAfter: .seconds(7)))),
        (
            500, #"{"error":{"status":"UNSPECIFIED_ERROR"}}"#,
            .failure(.unavailable(reason: "UNSPECIFIED_ERROR", retryAfter: .seconds(7)))
        ),
        (401, #"{"error":{"status":"SOMETHING_NEW"}}"#, .failure(.credentialExpired(reason: "SOMETHING_NEW"))),
        (418, #"{"error":{"status":"SOMETHING_NEW"}}"#, .failure(.rejected(reason: "SOMETHING_NEW"))),
        (401, "", .failure(.credentialExpired(reason: "HTTP 401"))),
        (302, "", .failure(.misconfigured(reason: "HTTP 302"))),
        (200, "<html>", .success(Acceptance())),
    ])
    func anAnswerWithoutJSONIsJudgedByItsStatus(status: Int, body: String, expected: SendOutcome) {
        let response = Samples.response(status, body, ["retry-after": "7"])
        #expect(FCMResponse.outcome(response, now: Samples.now) == expected)
    }

    /// If the server obeyed a `Retry-After` of zero, it would call the provider again at once.
    @Test(arguments: ["0", "Fri, 15 Jan 2027 08:00:00 GMT"])
    func retryAfterOfZeroLeavesTheBackoffToTheLane(retryAfter: String) {
        let response = Samples.response(503, "", ["retry-after": retryAfter])
        #expect(
            FCMResponse.outcome(response, now: Samples.now)
                == .failure(.unavailable(reason: "HTTP 503", retryAfter: .seconds(10)))
        )
    }

    @Test func aTwoHundredNamesTheMessage() {
        let response = Samples.response(200, #"{"name":"projects/p/messages/0:1%2","more":[1]}"#)
        let acceptance = Acceptance(providerID: "projects/p/messages/0:1%2")
        #expect(FCMResponse.outcome(response, now: Samples.now) == .success(acceptance))
    }
}

@Suite(.timeLimit(.minutes(5))) struct ServiceAccountTests {
    @Test func theAssertionIsRS256OverGooglesClaims() throws {
        let account = try ServiceAccount(Samples.json(Samples.serviceAccountFields), tokenEndpoint: nil)
        let token = try DecodedToken(try account.assertion(now: Samples.now))
        #expect(token.header == #"{"alg":"RS256","typ":"JWT","kid":"k1"}"#)
        #expect(
            token.claims == #"{"iss":"push@sample-1.iam.gserviceaccount.com","#
                + #""scope":"https://www.googleapis.com/auth/firebase.messaging","#
                + #""aud":"https://oauth2.googleapis.com/token","iat":1800000000,"exp":1800003600}"#
        )
        let publicKey = try #require(Samples.rsaKey).publicKey
        #expect(publicKey.isValidSignature(token.signature, for: token.signedText, padding: .pkcs1v15))
    }

    @Test func theExchangeIsAFormOfGrantTypeAndAssertion() throws {
        let account = try ServiceAccount(Samples.json(Samples.serviceAccountFields), tokenEndpoint: nil)
        let url = try #require(OutboundURL(account.tokenEndpoint))
        let request = try FCMSender.exchange(account, at: url, timeout: .seconds(1), now: Samples.now)
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey"
        #expect(request.bodyText.hasPrefix(prefix))
        #expect(request.header("content-type") == "application/x-www-form-urlencoded")
        #expect(request.url.text == "https://oauth2.googleapis.com/token")
    }

    @Test(arguments: ["project_id", "client_email", "private_key", "token_uri"])
    func aMissingFieldIsNamed(field: String) throws {
        var fields = Samples.serviceAccountFields
        fields[field] = nil
        let json = try Samples.json(fields)
        #expect(throws: SenderSettingsError.missingField(field)) { try ServiceAccount(json, tokenEndpoint: nil) }
    }

    @Test(arguments: [
        (
            "type", "authorized_user",
            SenderSettingsError.badValue(field: "type", expected: "service_account or external_account")
        ),
        ("project_id", "../x", .badValue(field: "project_id", expected: "a project's identifier")),
        (
            "private_key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            .badKey(field: "private_key", expected: "an RSA private key in PEM of at least 2048 bits")
        ),
        (
            "token_uri", "https://oauth2.googleapis.com.evil.example/token",
            .badValue(field: "token_uri", expected: "https://oauth2.googleapis.com/token")
        ),
        (
            "token_uri", "http://169.254.169.254/token",
            .badValue(field: "token_uri", expected: "https://oauth2.googleapis.com/token")
        ),
    ])
    func aBadFieldIsNamed(field: String, value: String, expected: SenderSettingsError) throws {
        var fields = Samples.serviceAccountFields
        fields[field] = value
        let json = try Samples.json(fields)
        #expect(throws: expected) { try ServiceAccount(json, tokenEndpoint: nil) }
    }

    @Test func theConfiguredTokenEndpointOverridesTheFile() throws {
        var fields = Samples.serviceAccountFields
        fields["token_uri"] = "https://elsewhere.example/token"
        let account = try ServiceAccount(Samples.json(fields), tokenEndpoint: "https://localhost:1/token")
        #expect(account.tokenEndpoint == "https://localhost:1/token")
    }

    @Test func invalidJSONIsReportedWithoutQuotingIt() throws {
        let error = #expect(throws: SenderSettingsError.self) {
            try ServiceAccount(Secret("hunter2"), tokenEndpoint: nil)
        }
        #expect(error?.description == "serviceAccount: must be the JSON file of a service account")
    }
}
