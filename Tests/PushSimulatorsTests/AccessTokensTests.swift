import Foundation
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct AccessTokensTests {
    @Test func aTokenIsGoodUntilItsEnd() {
        let tokens = AccessTokens()
        let header = "Bearer " + tokens.issue(now: Tokens.now.addingTimeInterval(-60), until: Tokens.now)
        #expect(tokens.authorize(header, now: Tokens.now.addingTimeInterval(-1)))
        #expect(!tokens.authorize(header, now: Tokens.now))
    }

    @Test func aTokenThatIsFetchedTooEarlyIsCounted() {
        let tokens = AccessTokens()
        for seconds in [0.0, 51, 60, 120] {
            let now = Tokens.now.addingTimeInterval(seconds)
            _ = tokens.issue(now: now, until: now.addingTimeInterval(100))
        }
        #expect(tokens.needlessCount == 1)
        tokens.revokeAll()
        _ = tokens.issue(now: Tokens.now, until: Tokens.now.addingTimeInterval(100))
        #expect(tokens.needlessCount == 1)
    }

    @Test(arguments: [nil, "", "Bearer", "Bearer x", "Basic x"])
    func anUnissuedTokenIsRefused(header: String?) {
        #expect(!AccessTokens().authorize(header, now: Tokens.now))
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", "a=1%2B2+3", "1+2 3"), ("text/plain", "a=1", nil),
        ("application/x-www-form-urlencoded; charset=utf-8", "a=", ""),
        ("application/x-www-form-urlencoded", "a=1&a=2", nil), ("application/x-www-form-urlencoded", "a=%zz", nil),
    ])
    func aFormIsReadStrictly(type: String, body: String, value: String?) {
        let headers = [HeaderField("Content-Type", type)]
        #expect(FormFields(SimulatedRequest(path: "/", headers: headers, body: Array(body.utf8)))?["a"] == value)
    }
}
