import Bytes
import Cryptography
import CurlHTTP
import Foundation
import PushCore
import Reactor
import Testing

@testable import PushSenders

private let point =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
private let secret = "BTBZMqHH6r4Tts7J_aSIgg"

private func subscription(
    _ endpoint: String = "https://fcm.googleapis.com/fcm/send/abc:1",
    key: String = point,
    auth: String = secret
) -> String {
    #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(key)","auth":"\#(auth)"}}"#
}

@Suite(.timeLimit(.minutes(5))) struct WebPushSubscriptionTests {
    @Test(arguments: [
        subscription(),
        #"""
        {
          "expirationTime": null,
          "keys": {"auth": "BTBZMqHH6r4Tts7J/aSIgg==", "p256dh": "\#(point)="},
          "endpoint": "https:\/\/fcm.googleapis.com\/fcm\/send\/abc:1"
        }
        """#,
    ])
    func everySpellingHasOneCanonicalForm(json: String) throws {
        let read = try WebPushSubscription(json)
        #expect(read.canonical == subscription())
        #expect(try WebPushSubscription(read.canonical).canonical == read.canonical)
        #expect(DeviceHandle(read.canonical)?.value == read.canonical)
    }

    @Test(arguments: [
        ("", WebPushSubscription.Flaw.notJSON), ("[]", .notJSON), ("{}", .notJSON), ("https://a/", .notJSON),
        (#"{"endpoint":"https://a/"}"#, .notJSON), (#"{"endpoint":"https://a/","keys":{"auth":"a"}}"#, .notJSON),
        (subscription("http://fcm.googleapis.com/x"), .badEndpoint), (subscription(""), .badEndpoint),
        (subscription("https://u@fcm.googleapis.com/x"), .badEndpoint),
        (subscription("https://fcm.googleapis.com/x#y"), .badEndpoint),
        (subscription("https://fcm.googleapis.com./x"), .badEndpoint),
        (subscription("https://fcm.googleapis.com.:443/x"), .badEndpoint),
        (subscription(#"https://fcm.googleapis.com/\u000d\u000aX: y"#), .badEndpoint),
        (subscription(key: ""), .badKey), (subscription(key: "!" + point.dropFirst()), .badKey),
        (subscription(key: String(point.dropLast(2))), .badKey),
        // A key with a wrong first byte, and a point that is not on the curve.
        (subscription(key: "A" + point.dropFirst()), .badKey), (subscription(key: point.dropLast() + "8"), .badKey),
        (subscription(auth: ""), .badSecret), (subscription(auth: secret + "AA"), .badSecret),
        (subscription(auth: String(secret.dropLast(2))), .badSecret),
    ])
    func anInvalidSubscriptionIsReportedWithItsFlaw(json: String, flaw: WebPushSubscription.Flaw) {
        #expect(throws: flaw) { try WebPushSubscription(json) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct VAPIDTests {
    private func tokens(_ key: VAPIDKey, subject: String = "mailto:ops@example.com") throws -> VAPIDTokens {
        try VAPIDTokens(key: key, subject: subject)
    }

    @Test func theExampleOfRFC8292IsVerifiedByTheKeyItNames() throws {
        let key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        let token = try DecodedToken(
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3Njgs"
                + "InN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1Jr"
                + "ErtmysazNjjvW2L9OkSSHzvoD1oA"
        )
        try self.expectSignature(of: token, by: key)
    }

    private func expectSignature(of token: DecodedToken, by key: String) throws {
        let bytes = try #require(Base64.bytes(inAnySpelling: key.utf8))
        let publicKey = try P256.Signing.PublicKey(x963Representation: bytes)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: token.signature)
        #expect(publicKey.isValidSignature(signature, for: token.signedText))
    }

    /// The field `Authorization` has the form of the example in RFC 8292. Only the values of the
    /// claims and the signature differ.
    @Test func anAuthorizationIsSignedAndNamesItsKey() throws {
        let key = try VAPIDKey(Secret(VAPIDKey.generateText()))
        let text = try self.tokens(key).authorization(for: "https://push.example.net", now: Samples.now).exposed
        let parts = text.split(separator: " ")
        #expect(parts.count == 3)
        #expect(parts[0] == "vapid")
        #expect(parts[2] == "k=\(key.publicText)")
        let token = try DecodedToken(String(parts[1].dropFirst(2).dropLast()))
        #expect(token.header == #"{"typ":"JWT","alg":"ES256"}"#)
        let end = Int(Samples.now.timeIntervalSince1970) + 43_200
        #expect(
            token.claims == #"{"aud":"https://push.example.net","exp":\#(end),"sub":"mailto:ops@example.com"}"#
        )
        try self.expectSignature(of: token, by: key.publicText)
    }

    @Test func aTokenIsReusedForItsOriginUntilItsLastHour() throws {
        let tokens = try self.tokens(VAPIDKey(Secret(VAPIDKey.generateText())))
        func token(_ origin: String, after seconds: TimeInterval) throws -> String {
            try tokens.authorization(for: origin, now: Samples.now + seconds).exposed
        }
        let first = try token("https://a", after: 0)
        #expect(try token("https://a", after: 11 * 3600) == first)
        #expect(try token("https://b", after: 0) != first)
        let second = try token("https://a", after: 11 * 3600 + 1)
        #expect(second != first)
        // The clock was wrong and has been set back. By the right clock, the second token would be
        // valid for longer than a push service allows, so the sender makes another.
        #expect(try token("https://a", after: -3600) != second)
    }

    @Test func aTokenIsEvictedAfterTooManyOrigins() throws {
        let tokens = try self.tokens(VAPIDKey(Secret(VAPIDKey.generateText())))
        let first = try tokens.authorization(for: "https://0", now: Samples.now).exposed
        for number in 1...VAPIDTokens.maximumOrigins {
            _ = try tokens.authorization(for: "https://\(number)", now: Samples.now)
        }
        #expect(try tokens.authorization(for: "https://0", now: Samples.now).exposed != first)
    }

    @Test func aKeyIsReadFromPEMAndAsWebPushToolsPrintIt() throws {
        let key = P256.Signing.PrivateKey()
        let publicText = Base64.url.text(of: key.publicKey.x963Representation)
        let raw = Base64.url.text(of: key.rawRepresentation)
        let pem = key.pemRepresentation
        let lines = pem.split(separator: "\n")
        let body = lines.dropFirst().dropLast().joined()
        // Other forms of the key file that OpenSSL can read, so the server must read them, too.
        let others = [
            "Bag Attributes\n  friendlyName: push\n\(pem)", lines.joined(separator: "\r\n") + "\r\n",
            lines.map { "\($0) \n" }.joined(), "\(lines[0])\n\(body)\n\(lines[lines.count - 1])\n",
            "\(lines[0])\n\(body.prefix(76))\n\(body.dropFirst(76))\n\(lines[lines.count - 1])",
        ]
        for text in [pem, "\n\(pem)\n\n", raw, "\(raw)=\n"] + others {
            #expect(try VAPIDKey(Secret(text)).publicText == publicText)
        }
    }

    @Test(arguments: ["", "x", "AAAA", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
    func anInvalidKeyIsReported(text: String) throws {
        let error = #expect(throws: SenderSettingsError.self) { try VAPIDKey(Secret(text)) }
        #expect("\(try #require(error))".hasPrefix("keyFile: not a P-256 private key"))
    }

    @Test(arguments: [
        ("mailto:ops@localhost", false), ("mailto:ops@host.local", false), ("mailto:ops@push.test", false),
        ("mailto:ops@[::1]", false), ("mailto:ops@127.0.0.1", false), ("mailto:ops@mail", false),
        ("https://localhost/contact", false), ("https://10.0.0.1", false), ("https://a..com", false),
        ("mailto:a@example.com", true), ("https://example.com/contact", true), ("", false), ("ops@example.com", false),
        ("mailto:", false), ("mailto:a", false), ("mailto:@b", false), ("mailto:a@b@c", false), ("https://", false),
        ("http://a", false), ("mailto:a b@c", false),
    ])
    func theSubjectMustBeAPublicContactAddress(subject: String, isOne: Bool) throws {
        let key = try VAPIDKey(Secret(VAPIDKey.generateText()))
        #expect(((try? self.tokens(key, subject: subject)) != nil) == isOne)
    }
}

@Suite(.timeLimit(.minutes(5))) struct WebPushRequestTests {
    private func request(
        _ endpoint: String = "https://fcm.googleapis.com/fcm/send/abc:1",
        expiresIn: TimeInterval = 86_400,
        priority: Push.Priority = .normal
    ) throws -> OutboundRequest {
        let key = try VAPIDKey(Secret(VAPIDKey.generateText()))
        let tokens = try VAPIDTokens(key: key, subject: "mailto:ops@example.com")
        let push = try Samples.push(
            handle: subscription(endpoint),
            expiresIn: expiresIn,
            priority: priority,
            sharedCollapseID: "topic_-1"
        )
        let placeholder = try WebPushPlaceholder(page: "https://page.example/")
        let request = WebPushRequest(
            tokens: tokens,
            content: WebPushContent(AlertPolicy()),
            appleContent: WebPushContent(AlertPolicy(), placeholder: placeholder),
            timeout: .seconds(9)
        )
        return try request.make(push, to: WebPushSubscription(push.handle), now: Samples.now)
    }

    @Test func theHeadersAreExactlyThese() throws {
        let request = try self.request()
        #expect(request.method == .post)
        #expect(request.url.text == "https://fcm.googleapis.com/fcm/send/abc:1")
        #expect(request.headers.first?.name == "Authorization")
        #expect(
            request.headers.dropFirst() == [
                .init("Content-Type", "application/octet-stream"), .init("Content-Encoding", "aes128gcm"),
                .init("TTL", "86400"), .init("Urgency", "normal"), .init("Topic", "topic_-1"),
            ]
        )
        #expect(request.body.count == 230)
    }

    @Test(arguments: [(-5.0, "0"), (0.9, "0"), (1, "1"), (2_592_000, "2592000"), (9e18, "2592000")])
    func theTimeToLiveIsTheRemainingTimeUpToThirtyDays(left: TimeInterval, expected: String) throws {
        let request = try self.request(expiresIn: left, priority: .high)
        #expect(request.header("ttl") == expected)
        #expect(request.header("urgency") == "high")
    }

    @Test(arguments: [
        ("https://wns2-par02p.notify.windows.com/w/?token=B", 60.0, "cache"),
        ("https://wns2-par02p.notify.windows.com/w/?token=B", 0, "no-cache"),
        ("https://fcm.googleapis.com/x", 0, nil), ("https://evilnotify.windows.com/x", 0, nil),
    ])
    func onlyMicrosoftGetsACachePolicyHeader(endpoint: String, left: TimeInterval, expected: String?) throws {
        #expect(try self.request(endpoint, expiresIn: left).header("x-wns-cache-policy") == expected)
    }

    @Test(arguments: [
        ("https://web.push.apple.com/QD1", true), ("https://WEB.push.apple.com:443/QD1", true),
        ("https://fcm.googleapis.com/x", false), ("https://updates.push.services.mozilla.com/x", false),
        ("https://evilpush.apple.com/x", false),
    ])
    func onlySafariGetsAPlaceholder(endpoint: String, isDeclarative: Bool) throws {
        let request = try self.request(endpoint)
        #expect((request.body.count > 230) == isDeclarative)
        #expect(request.header("content-type") == "application/octet-stream")
    }

    /// RFC 8292 section 2: the origin has neither a path nor a default port.
    @Test(arguments: [
        ("https://WEB.push.apple.com/QD1", "https://web.push.apple.com"),
        ("https://web.push.apple.com:443/QD1", "https://web.push.apple.com"),
        ("https://localhost:8443/a?b", "https://localhost:8443"),
    ])
    func theAudienceIsTheOrigin(endpoint: String, origin: String) throws {
        #expect(try WebPushSubscription(subscription(endpoint)).origin == origin)
    }
}

@Suite(.timeLimit(.minutes(5))) struct WebPushResponseTests {
    @Test(arguments: [
        (201, "", [:], SendOutcome.success(Acceptance())),
        (200, "", [:], .success(Acceptance())), (202, "", [:], .success(Acceptance())),
        (201, "", ["apns-id": "4A-1"], .success(Acceptance(providerID: "4A-1"))),
        (201, "", ["x-wns-msg-id": "4A1B"], .success(Acceptance(providerID: "4A1B"))),
        (301, "", ["location": "https://evil.example/"], .failure(.deviceGone(reason: "HTTP 301"))),
        (307, "", [:], .failure(.deviceGone(reason: "HTTP 307"))),
        (400, #"{"errno":113}"#, [:], .failure(.rejected(reason: "HTTP 400 errno 113"))),
        (400, "UnauthorizedRegistration", [:], .failure(.deviceUnknown(reason: "HTTP 400"))),
        (400, "the VAPID key does not fit", [:], .failure(.deviceUnknown(reason: "HTTP 400"))),
        (
            400, "no room at https://jwt.example/vapid or \(String(repeating: "aJWTb", count: 9))", [:],
            .failure(.rejected(reason: "HTTP 400"))
        ),
        (400, #"{"reason":"BadJwtToken"}"#, [:], .failure(.deviceUnknown(reason: "HTTP 400 BadJwtToken"))),
        (
            401, #"{"code":401,"errno":109,"error":"Unauthorized","message":"Invalid VAPID audience"}"#, [:],
            .failure(.misconfigured(reason: "HTTP 401 errno 109"))
        ),
        (
            401, #"{"code":401,"errno":109,"message":"VAPID public key mismatch"}"#, [:],
            .failure(.deviceUnknown(reason: "HTTP 401 errno 109"))
        ),
        (401, "<p>Invalid VAPID token</p>", [:], .failure(.deviceUnknown(reason: "HTTP 401"))),
        (401, #"{"error":{"status":"UNAUTHENTICATED"}}"#, [:], .failure(.deviceUnknown(reason: "HTTP 401"))),
        (
            403, #"{"reason":"VapidPkHashMismatch"}"#, [:],
            .failure(.deviceUnknown(reason: "HTTP 403 VapidPkHashMismatch"))
        ),
        (403, #"{"reason":"BadJwtToken"}"#, [:], .failure(.deviceUnknown(reason: "HTTP 403 BadJwtToken"))),
        (404, #"{"errno":102}"#, [:], .failure(.deviceGone(reason: "HTTP 404 errno 102"))),
        (405, "", [:], .failure(.deviceUnknown(reason: "HTTP 405"))),
        (406, "", [:], .failure(.deviceBusy(reason: "HTTP 406", retryAfter: .seconds(60)))),
        (408, "", [:], .failure(.unavailable(reason: "HTTP 408"))),
        (408, "", ["retry-after": "5"], .failure(.overloaded(reason: "HTTP 408", retryAfter: .seconds(5)))),
        (410, #"{"errno":106}"#, [:], .failure(.deviceGone(reason: "HTTP 410 errno 106"))),
        (410, "", ["retry-after": "9"], .failure(.deviceGone(reason: "HTTP 410"))),
        (413, #"{"errno":104}"#, [:], .failure(.rejected(reason: "HTTP 413 errno 104"))),
        (422, "", [:], .failure(.rejected(reason: "HTTP 422"))),
        (429, "", ["retry-after": "120"], .failure(.deviceBusy(reason: "HTTP 429", retryAfter: .seconds(120)))),
        (429, "", [:], .failure(.deviceBusy(reason: "HTTP 429", retryAfter: .seconds(60)))),
        (500, #"{"errno":999}"#, [:], .failure(.unavailable(reason: "HTTP 500 errno 999"))),
        (503, "", [:], .failure(.unavailable(reason: "HTTP 503"))),
        (507, "", [:], .failure(.deviceBusy(reason: "HTTP 507", retryAfter: .seconds(60)))),
        (507, "", ["retry-after": "9"], .failure(.deviceBusy(reason: "HTTP 507", retryAfter: .seconds(9)))),
        (503, "", ["retry-after": "30"], .failure(.overloaded(reason: "HTTP 503", retryAfter: .seconds(30)))),
        (502, "", ["retry-after": "99999"], .failure(.overloaded(reason: "HTTP 502", retryAfter: .seconds(3600)))),
        (600, "", [:], .failure(.unavailable(reason: "HTTP 600"))),
    ])
    func eachAnswerHasItsConsequence(status: Int, body: String, headers: [String: String], expected: SendOutcome) {
        #expect(WebPushResponse.outcome(Samples.response(status, body, headers), now: Samples.now) == expected)
    }

    @Test func everyStatusHasARow() {
        let table = WebPushResponse.table
        for status in 200...599 {
            #expect(table.accepted.contains(status) || table.rows.contains { $0.statuses.contains(status) })
        }
    }

    /// Some push services repeat the endpoint, which is secret, in their answers. A reason must
    /// not contain it.
    @Test func reasonsLeaveOutTextChosenByTheDevice() {
        let body = #"{"reason":"https://a/ secret","message":"/secret","errno":5}"#
        let outcome = WebPushResponse.outcome(Samples.response(400, body), now: Samples.now)
        #expect(outcome == .failure(.rejected(reason: "HTTP 400 errno 5")))
    }
}

@Suite(.timeLimit(.minutes(5))) struct WebPushSenderTests {
    private func sender<Result>(
        _ change: (inout WebPushSettings) -> Void = { _ in },
        _ body: (WebPushSender) throws -> Result
    ) throws -> Result {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        var settings = WebPushSettings(
            key: try VAPIDKey(Secret(VAPIDKey.generateText())),
            subject: "mailto:ops@example.com"
        )
        change(&settings)
        return try body(try WebPushSender(settings, on: loop))
    }

    @Test(arguments: [
        ("https://fcm.googleapis.com/fcm/send/x", "fcm.googleapis.com"),
        ("https://jmt17.google.com/fcm/send/x", "jmt17.google.com"),
        ("https://updates.push.services.mozilla.com/wpush/v2/x", "updates.push.services.mozilla.com"),
        ("https://eu.push.services.mozilla.com/x", "push.services.mozilla.com"),
        ("https://web.push.apple.com/x", "push.apple.com"),
        ("https://wns2-par02p.notify.windows.com/w/?token=x", "notify.windows.com"),
        ("https://push.apple.com/x", nil), ("https://android.googleapis.com/gcm/send/x", nil),
        ("https://fcm.googleapis.com:8443/x", nil), ("https://fcm.googleapis.com.evil.org/x", nil),
        ("https://127.0.0.1/x", nil),
    ])
    func eachPushServiceHasAName(endpoint: String, name: String?) throws {
        let handle = try #require(DeviceHandle(subscription(endpoint)))
        let handles = try self.sender { $0.handles }
        if let name {
            #expect(try handles.part(of: handle) == name)
            #expect(handles.services.map(\.name).contains(name))
        } else {
            let hosts = WebPushSettings.publicHosts.joined(separator: ", ")
            #expect(throws: HandleFlaw.notAllowed("endpoint must be at \(hosts)")) { try handles.part(of: handle) }
        }
    }

    @Test func theErrorNamesWhatIsWrong() throws {
        func error(_ change: (inout WebPushSettings) -> Void) throws -> String? {
            do {
                try self.sender(change) { _ in }
                return nil
            } catch let error as SenderSettingsError {
                return error.description
            }
        }
        let long = try WebPushPlaceholder(page: "https://page.example/\(String(repeating: "{id}", count: 100))")
        #expect(try error { _ in } == nil)
        #expect(try error { $0.allowedHosts = [] } == "allowedHosts: missing")
        #expect(try error { $0.allowedHosts = ["*."] }?.hasPrefix("allowedHosts: must be") == true)
        #expect(
            try error {
                for member in AlertMember.allCases { $0.alerts.allowed[member] = [String(repeating: "\\", count: 100)] }
                $0.placeholder = long
            }?.hasPrefix("placeholder: must be shorter") == true
        )
        #expect(try error { $0.subject = "me" }?.hasPrefix("subject: must be mailto:") == true)
    }
}
