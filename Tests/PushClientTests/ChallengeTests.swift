import Foundation
import Testing

@testable import PushClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct ChallengeTests {
    @Test(
        arguments: [
            (NSURLAuthenticationMethodHTTPBasic, false, .decline),
            (NSURLAuthenticationMethodHTTPDigest, false, .decline),
            (NSURLAuthenticationMethodNTLM, false, .decline), (NSURLAuthenticationMethodNegotiate, false, .decline),
            (NSURLAuthenticationMethodHTMLForm, false, .decline), (NSURLAuthenticationMethodDefault, false, .decline),
            ("NSURLAuthenticationMethodClientCertificate", false, .decline), ("of tomorrow", false, .decline),
            (ChallengeAnswer.serverTrust, false, .system), (NSURLAuthenticationMethodHTTPBasic, true, .system),
            (NSURLAuthenticationMethodNTLM, true, .system),
        ] as [(String, Bool, ChallengeAnswer)]
    )
    func theSystemAnswersOnlyServerCertificatesAndProxies(method: String, isProxy: Bool, answer: ChallengeAnswer) {
        #expect(ChallengeAnswer(method: method, isProxy: isProxy, trust: .system) == answer)
    }

    /// For a challenge, the client sends the app's certificate, and no other credentials of the
    /// app.
    @Test func theAppsCertificateIsSentWhenTheServerAsksForOne() {
        let method = ChallengeAnswer.clientCertificate
        for trust in [PushClient.ServerTrust.system, .pinned([])] {
            #expect(
                ChallengeAnswer(method: method, isProxy: false, trust: trust, hasCertificate: true) == .showCertificate
            )
            #expect(ChallengeAnswer(method: method, isProxy: false, trust: trust, hasCertificate: false) == .decline)
            let basic = NSURLAuthenticationMethodHTTPBasic
            #expect(ChallengeAnswer(method: basic, isProxy: false, trust: trust, hasCertificate: true) == .decline)
        }
    }

    @Test func pinsAreComparedForTheServerOnly() throws {
        let trust = PushClient.ServerTrust.pinned([try #require(.init(sha256: Data(count: 32).base64EncodedString()))])
        let method = ChallengeAnswer.serverTrust
        #expect(ChallengeAnswer(method: method, isProxy: false, trust: trust) == .comparePins)
        #expect(ChallengeAnswer(method: method, isProxy: true, trust: trust) == .system)
        // With an empty list of pins, the client trusts no certificate. It must not trust all.
        #expect(ChallengeAnswer(method: method, isProxy: false, trust: .pinned([])) == .comparePins)
    }
}
