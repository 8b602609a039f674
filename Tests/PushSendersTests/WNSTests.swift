import CurlHTTP
import Foundation
import PushCore
import Reactor
import Testing

@testable import PushSenders

private let channel = "https://db3.notify.windows.com/?token=AwY%2fA%2b%3D%3d"

@Suite(.timeLimit(.minutes(5))) struct WNSHandleRuleTests {
    @Test(arguments: [
        channel, "https://cloud.notify.windows.com/x", "https://WNS2-BY3P.notify.windows.com:443/?token=1",
        "https://a.notify.windows.com./",
    ])
    func aWindowsChannelIsKeptByteForByte(text: String) throws {
        #expect(try WNSHandleRule(allowedHosts: ["*.notify.windows.com"]).address(text).text == text)
    }

    @Test(arguments: [
        "", "http://db3.notify.windows.com/", "https://evilnotify.windows.com/", "https://notify.windows.com/",
        "https://db3.notify.windows.com.evil.org/", "https://user@db3.notify.windows.com/",
        "https://evil.org@db3.notify.windows.com/", "https://evil.org\\@db3.notify.windows.com/",
        "https://evil.org#.notify.windows.com/", "https://evil.org/?.notify.windows.com/",
        "https://db3.notify.windows.com/#x", "https://db3.notify.windows.com:8443/", "https://127.0.0.1/",
        "https://db3.notify.windows.com%2eevil.org/", "https://db3。notify.windows.com/",
        "https://db3.notify.windows.com/" + String(repeating: "x", count: 2048),
    ])
    func anyOtherAddressIsRefused(text: String) throws {
        let flaw = HandleFlaw.notAllowed("it must be a channel, https at *.notify.windows.com")
        let rule = try WNSHandleRule(allowedHosts: ["*.notify.windows.com"])
        #expect(throws: flaw) { try rule.address(text) }
    }

    @Test func aPortOtherThanTheDefaultMustBeListed() throws {
        let rule = try WNSHandleRule(allowedHosts: ["localhost:8443"])
        #expect(rule.takes("https://localhost:8443/c"))
        #expect(!rule.takes("https://localhost:8444/c"))
    }
}

@Suite(.timeLimit(.minutes(5))) struct WNSRequestTests {
    private func request(_ push: Push, _ content: WNSContent = .raw) throws -> OutboundRequest {
        let handles = try WNSHandleRule(allowedHosts: ["*.notify.windows.com"])
        return try WNSRequest(handles: handles, content: content, timeout: .seconds(9))
            .make(push, token: Secret("TOKEN"), now: Samples.now)
    }

    @Test func aRawPushIsExactlyThis() throws {
        let request = try self.request(Samples.push(handle: channel))
        #expect(request.method == .post)
        #expect(request.url.text == channel)
        #expect(
            request.headers == [
                .init("Authorization", "Bearer TOKEN"),
                .init("Content-Type", "application/octet-stream"),
                .init("X-WNS-Type", "wns/raw"),
                .init("X-WNS-Cache-Policy", "cache"),
                .init("X-WNS-TTL", "86400"),
                .init("X-WNS-PRIORITY", "3"),
                .init("X-WNS-RequestForStatus", "true"),
            ]
        )
        #expect(request.bodyText == "7")
    }

    @Test func aToastIsExactlyThis() throws {
        let request = try self.request(Samples.push(handle: channel), .toast(text: "You & <me>"))
        #expect(request.header("x-wns-type") == "wns/toast")
        #expect(request.header("content-type") == "text/xml")
        #expect(
            request.bodyText
                == #"<toast launch="secureId=7"><visual><binding template="ToastGeneric">"#
                + "<text>You &amp; &lt;me&gt;</text></binding></visual></toast>"
        )
    }

    @Test(arguments: [(-5.0, "1"), (1, "1"), (2_592_000, "2592000"), (9e9, "2592000")])
    func theTimeToLiveIsTheRemainingTimeUpToThirtyDays(left: TimeInterval, expected: String) throws {
        let request = try self.request(Samples.push(handle: channel, expiresIn: left, priority: .high))
        #expect(request.header("x-wns-ttl") == expected)
        #expect(request.header("x-wns-priority") == "1")
    }

    @Test func aChannelIsCheckedAgainBeforeThePush() throws {
        let push = try Samples.push(handle: "https://evil.example/")
        #expect(throws: SendFailure.rejected(reason: "the channel's host is not in allowedHosts")) {
            try self.request(push)
        }
    }

    @Test func theTokenRequestEscapesTheSecret() throws {
        let url = try #require(OutboundURL("https://login.microsoftonline.com/t/oauth2/v2.0/token"))
        let request = WNSRequest.tokenRequest(
            at: url,
            clientID: "id",
            clientSecret: Secret("a+b/c="),
            scope: WNSSettings.entraScope,
            timeout: .seconds(1)
        )
        #expect(
            request.bodyText == "grant_type=client_credentials&client_id=id&client_secret=a%2Bb%2Fc%3D"
                + "&scope=https%3A%2F%2Fwns.windows.com%2F.default"
        )
    }
}

@Suite(.timeLimit(.minutes(5))) struct WNSResponseTests {
    @Test(arguments: [
        (
            200, ["x-wns-status": "received", "x-wns-msg-id": "4A1B"],
            SendOutcome.success(Acceptance(providerID: "4A1B"))
        ),
        (200, [:], .success(Acceptance())),
        (200, ["x-wns-status": "dropped"], .failure(.rejected(reason: "dropped"))),
        (200, ["x-wns-notificationstatus": "dropped"], .failure(.rejected(reason: "dropped"))),
        (
            200, ["x-wns-status": "channelThrottled"],
            .failure(.deviceBusy(reason: "channelthrottled", retryAfter: .seconds(600)))
        ),
        (400, ["x-wns-error-description": "Bad header"], .failure(.rejected(reason: "Bad header"))),
        (401, [:], .failure(.credentialExpired(reason: "HTTP 401"))),
        (403, [:], .failure(.deviceUnknown(reason: "HTTP 403"))),
        (404, [:], .failure(.deviceUnknown(reason: "HTTP 404"))),
        (405, [:], .failure(.deviceUnknown(reason: "HTTP 405"))),
        (406, [:], .failure(.overloaded(reason: "HTTP 406", retryAfter: .seconds(3600)))),
        (406, ["retry-after": "9"], .failure(.overloaded(reason: "HTTP 406", retryAfter: .seconds(9)))),
        (410, ["x-wns-error-description": "Channel expired"], .failure(.deviceGone(reason: "Channel expired"))),
        (
            410, ["x-wns-error-description": "The domain is blocked"],
            .failure(.misconfigured(reason: "The domain is blocked"))
        ),
        (
            410, ["x-wns-error-description": "Sender suspended, bandwidth"],
            .failure(.misconfigured(reason: "Sender suspended, bandwidth"))
        ),
        (
            410, ["x-wns-error-description": "The channel was abandoned"],
            .failure(.deviceGone(reason: "The channel was abandoned"))
        ),
        (412, [:], .failure(.unavailable(reason: "HTTP 412"))),
        (413, [:], .failure(.rejected(reason: "HTTP 413"))),
        (302, ["location": "https://evil.example/"], .failure(.rejected(reason: "HTTP 302"))),
        (500, [:], .failure(.unavailable(reason: "HTTP 500"))),
        (503, [:], .failure(.unavailable(reason: "HTTP 503"))),
        (503, ["retry-after": "30"], .failure(.overloaded(reason: "HTTP 503", retryAfter: .seconds(30)))),
    ])
    func eachStatusHasItsConsequence(status: Int, headers: [String: String], expected: SendOutcome) {
        #expect(WNSResponse.outcome(Samples.response(status, "", headers), now: Samples.now) == expected)
    }
}

@Suite(.timeLimit(.minutes(5))) struct WNSSettingsTests {
    private static let good = WNSSettings(
        clientID: "id",
        clientSecret: Secret("hunter2"),
        tokenEndpoint: WNSSettings.entraTokenEndpoint(tenantID: "t")
    )

    @Test func theErrorNamesWhatIsWrong() throws {
        func error(_ change: (inout WNSSettings) -> Void) throws -> String? {
            let loop = try EventLoop(index: 0)
            defer { loop.stop() }
            var settings = Self.good
            change(&settings)
            do throws(SenderSettingsError) {
                _ = try WNSSender(settings, on: loop)
                return nil
            } catch {
                return error.description
            }
        }
        #expect(try error { _ in } == nil)
        #expect(try error { $0.clientID = "" } == "clientID: missing")
        #expect(
            try error { $0.clientSecret = Secret("") }
                == "clientSecretFile: must be a file with the client secret, and is empty"
        )
        #expect(try error { $0.tokenEndpoint = "http://a" } == "tokenEndpoint: must be an https URL")
        #expect(try error { $0.allowedHosts = ["*"] }?.hasPrefix("allowedHosts:") == true)
    }

    @Test func theSecretIsNeverPrinted() {
        var text = "\(Self.good)"
        dump(Self.good, to: &text)
        #expect(!text.contains("hunter2"))
    }
}
