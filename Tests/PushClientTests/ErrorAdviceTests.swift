import ClientPeers
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the advice for an error, and which errors are caused by the network.
@Suite(.timeLimit(.minutes(5))) struct ErrorAdviceTests {
    private typealias Advice = PushClient.Advice

    private static func interference(_ kind: Interference.Kind, status: Int = 200) -> PushClientError {
        .interference(Interference(kind: kind, expected: "a", seen: nil, status: status, path: "/"))
    }

    // MARK: Domains

    /// URLSession reports POSIX 53, `ECONNABORTED`, when an app returns from the background.
    @Test(arguments: [
        (POSIXErrorCode.ECONNABORTED, URLError.Code.networkConnectionLost), (.ECONNRESET, .networkConnectionLost),
        (.EPIPE, .networkConnectionLost), (.ENOTCONN, .networkConnectionLost), (.ETIMEDOUT, .timedOut),
        (.ENETDOWN, .notConnectedToInternet), (.ENETUNREACH, .notConnectedToInternet),
        (.EHOSTUNREACH, .notConnectedToInternet), (.ECONNREFUSED, .cannotConnectToHost),
    ])
    func errorsOfPOSIXCountAsOffline(code: POSIXErrorCode, meant: URLError.Code) throws {
        let error = NSError(domain: NSPOSIXErrorDomain, code: Int(code.rawValue))
        #expect((NetworkFailure.urlError(error) as? URLError)?.code == meant)
        #expect((error as any Error).isOfNetwork)
        #expect(Advice(for: error) == .offline)
    }

    @Test(arguments: [
        (310, URLError.Code.cannotConnectToHost), (306, .cannotConnectToHost), (2, .cannotConnectToHost),
        (-1009, .notConnectedToInternet), (-1005, .networkConnectionLost),
    ])
    func errorsOfCFNetworkCountAsOffline(code: Int, meant: URLError.Code) {
        let error = NSError(domain: "kCFErrorDomainCFNetwork", code: code)
        #expect((NetworkFailure.urlError(error) as? URLError)?.code == meant)
        #expect((error as any Error).isOfNetwork)
        #expect(Advice(for: error) == .offline)
    }

    @Test func errorCodesOutOfRangeDoNotTrap() {
        for domain in [NSPOSIXErrorDomain, NetworkFailure.networkDomain, NSURLErrorDomain] {
            for code in [Int.min, Int.max, 0, -1, 1 << 40] {
                _ = NetworkFailure.urlError(NSError(domain: domain, code: code))
            }
        }
    }

    @Test func anErrorOfAnotherDomainIsNotConverted() {
        let error = NSError(domain: NSCocoaErrorDomain, code: 53)
        #expect(!(NetworkFailure.urlError(error) is URLError))
        #expect(!(error as any Error).isOfNetwork)
        #expect(Advice(for: error) == .unavailable)
    }

    @Test func aCancelledCallHasNoAdvice() {
        #expect(Advice(for: CancellationError()) == nil)
        #expect(Advice(for: URLError(.cancelled)) == nil)
        let cancelled = NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ECANCELED.rawValue))
        #expect(!(cancelled as any Error).isOfNetwork)
    }

    /// A change of networks in the middle of an answer is an error of the network, and no
    /// interference.
    @Test func aLostNetworkIsNotInterference() {
        let aborted = NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ECONNABORTED.rawValue))
        #expect(NetworkFailure.isOwn(URLError(.networkConnectionLost, userInfo: [NSUnderlyingErrorKey: aborted])))
        let stream: [String: Any] = [
            "_kCFStreamErrorDomainKey": 1, "_kCFStreamErrorCodeKey": Int(POSIXErrorCode.ENETDOWN.rawValue),
        ]
        #expect(NetworkFailure.isOwn(URLError(.networkConnectionLost, userInfo: stream)))
        #expect(NetworkFailure.isOwn(URLError(.notConnectedToInternet)))
        #expect(!NetworkFailure.isOwn(URLError(.networkConnectionLost)))
        let reset = NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ECONNRESET.rawValue))
        #expect(!NetworkFailure.isOwn(URLError(.networkConnectionLost, userInfo: [NSUnderlyingErrorKey: reset])))
    }

    // MARK: Advice

    @Test(arguments: [
        (PushClientError.unauthorized(Problem(.unauthorized)), PushClient.Advice.signIn),
        (.offline(.timedOut), .offline), (.offline(.serverCertificateUntrusted), .pin),
        (.busy(Problem(.busy), retryAfter: nil), .wait), (.problem(Problem(.forbidden)), .refused),
        (.pinningUnavailable, .unavailable), (.invalidServer, .app), (.insecureServer, .app),
        (.noSignatureKeys, .app), (.invalidValue("app"), .app), (.notRegistered, .app),
        (.outboxFull, .offline), (.storage("full"), .storage), (.keyReplaced, .keyReplaced),
        (interference(.missingEcho), .captivePortal), (interference(.redirect), .captivePortal),
        (interference(.wrongEcho), .interference), (interference(.truncated), .interference),
        (interference(.signature), .update), (interference(.wrongClock), .clock),
        (interference(.untrustedKey), .pin),
    ])
    func eachErrorHasItsAdvice(error: PushClientError, advice: PushClient.Advice) {
        #expect(Advice(for: error) == advice)
    }

    /// An answer without the echo may come from a captive portal, a proxy or, during an outage, a
    /// load balancer. The advice depends on its status.
    @Test(arguments: [
        (200, PushClient.Advice.captivePortal), (302, .captivePortal), (401, .captivePortal), (403, .captivePortal),
        (511, .captivePortal), (407, .proxy), (408, .wait), (421, .wait), (429, .wait), (500, .wait), (502, .wait),
        (503, .wait), (504, .wait), (404, .interference), (400, .interference), (103, .interference),
    ])
    func adviceWithoutAnEchoDependsOnTheStatus(status: Int, advice: PushClient.Advice) {
        #expect(Advice(for: Self.interference(.missingEcho, status: status)) == advice)
    }

    @Test(arguments: [
        (URLError.Code.notConnectedToInternet, PushClient.Advice.offline), (.timedOut, .offline),
        (.cannotFindHost, .offline), (.serverCertificateHasBadDate, .clock), (.serverCertificateNotYetValid, .clock),
        (.serverCertificateUntrusted, .pin), (.serverCertificateHasUnknownRoot, .pin),
        (.clientCertificateRejected, .refused), (.appTransportSecurityRequiresSecureConnection, .unavailable),
    ])
    func eachNetworkErrorHasItsAdvice(code: URLError.Code, advice: PushClient.Advice) {
        #expect(Advice(for: URLError(code)) == advice)
    }

    @Test func theGuideHasALineForEachAdvice() throws {
        let guide = try Repository.text(of: "Sources/PushClient/PushClient.docc/Errors.md")
        for advice in PushClient.Advice.allCases {
            #expect(guide.contains("| `\(advice.rawValue)` |"), "\(advice)")
            #expect(guide.contains(advice.text), "\(advice)")
        }
        for kind in Interference.Kind.allCases { #expect(guide.contains("`\(kind.rawValue)`"), "\(kind)") }
    }

    // MARK: Deadline

    @Test func aCallEndsAtItsDeadlineHoweverManyRequestsItSends() async throws {
        var options = PushClient.Options(testing: [])
        options.deadline = .seconds(15)
        // If a call waited for this timeout and not for its deadline, it would exceed the test's
        // time limit.
        options.timeout = .seconds(3600)
        // The registration id is gone, so the client sends one request after another. Then the
        // server is silent.
        let script: ScriptedPeer.Script = { request, index in
            if index == 2 { return .silence }
            return .answer(
                request.method == "POST"
                    ? PeerAnswer(to: request, body: "\"id\"") : PeerAnswer(to: request, .registrationGone)
            )
        }
        try await ScriptedPeer.run(script, options: options) { peer, client in
            let advice = await advice { try await client.register(platform: "apns", handle: "a") }
            #expect(advice == .offline)
            #expect(peer.requests.map(\.method) == ["POST", "PUT", "POST"])
        }
    }
}
