import CurlHTTP
import Foundation
import PushCore
import PushSenders
import PushSimulators
import Testing

/// Tests the sender with the simulator, over TLS, including access tokens.
@Suite(.timeLimit(.minutes(5))) struct WNSEndToEndTests {
    private func withWNS<Result: Sendable>(
        change: @Sendable (inout WNSSettings, WNSSimulator) -> Void = { _, _ in },
        _ body: @Sendable (WNSSender, WNSSimulator) async throws -> Result
    ) async throws -> Result {
        try await withProvider { authority, connection, loop in
            let wns = try WNSSimulator(authority: authority, options: .named)
            var settings = WNSSettings(
                clientID: wns.credentials.clientID,
                clientSecret: Secret(wns.credentials.clientSecret),
                tokenEndpoint: wns.tokenEndpoint,
                allowedHosts: ["localhost:\(wns.port)"],
                addresses: .any,
                connection: connection
            )
            change(&settings, wns)
            let sender = try WNSSender(settings, on: loop)
            return try await wns.whileRunning { wns in
                let result = try await body(sender, wns)
                await sender.close()
                return result
            }
        }
    }

    @Test func aRawPushReachesItsChannelByteForByte() async throws {
        let (outcome, received, channel) = try await self.withWNS { sender, wns in
            let channel = wns.makeChannel()
            #expect(try WNSHandleRule(allowedHosts: ["localhost:\(wns.port)"]).takes(channel))
            return (await sender.outcome(of: try Samples.push(handle: channel)), wns.pushes.received, channel)
        }
        guard case .success = outcome else {
            Issue.record("unexpected: \(outcome)")
            return
        }
        #expect(received.map(\.verdict) == [.accepted])
        let request = try #require(received.first?.request)
        #expect(channel.hasSuffix(request.path))
        #expect(request.body == Array("7".utf8))
    }

    @Test func aToastReachesAnAppOfPartnerCenter() async throws {
        let (outcome, received) = try await self.withWNS { settings, wns in
            settings.tokenEndpoint = wns.storeTokenEndpoint
            settings.scope = WNSSettings.storeScope
            settings.content = .toast(text: "It's new & good")
        } _: { sender, wns in
            (await sender.outcome(of: try Samples.push(handle: wns.makeChannel())), wns.pushes.received)
        }
        guard case .success = outcome else {
            Issue.record("unexpected: \(outcome)")
            return
        }
        #expect(received.map(\.verdict) == [.accepted])
    }

    @Test func theScopeOfTheOtherAppKindIsAMisconfiguration() async throws {
        let outcome = try await self.withWNS { settings, _ in
            settings.scope = WNSSettings.storeScope
        } _: { sender, wns in
            await sender.outcome(of: try Samples.push(handle: wns.makeChannel()))
        }
        guard case .failure(.misconfigured) = outcome else {
            Issue.record("unexpected: \(outcome)")
            return
        }
    }

    @Test func anExpiredChannelIsGone() async throws {
        let outcome = try await self.withWNS { sender, wns in
            let channel = wns.makeChannel()
            wns.expire(channel)
            return await sender.outcome(of: try Samples.push(handle: channel))
        }
        guard case .failure(.deviceGone) = outcome else {
            Issue.record("unexpected: \(outcome)")
            return
        }
    }

    @Test func aRevokedAccessTokenIsFetchedAgainOnceForAll() async throws {
        let (accepted, exchanges) = try await self.withWNS { sender, wns in
            let channels = (0..<20).map { _ in wns.makeChannel() }
            let first = try await sender.accepted(20) { try Samples.push(handle: channels[$0 - 1]) }
            wns.revokeAccessTokens()
            let second = try await sender.accepted(20) { try Samples.push(handle: channels[$0 - 1]) }
            return ([first, second], wns.tokenRequests.acceptedCount)
        }
        #expect(accepted == [20, 20])
        #expect(exchanges == 2)
    }

    @Test func aWrongSecretIsAMisconfiguration() async throws {
        let outcome = try await self.withWNS { settings, _ in
            settings.clientSecret = Secret("hunter2")
        } _: { sender, wns in
            await sender.outcome(of: try Samples.push(handle: wns.makeChannel()))
        }
        guard case .failure(.misconfigured(let reason)) = outcome else {
            Issue.record("unexpected: \(outcome)")
            return
        }
        #expect(reason.hasPrefix("token endpoint: "))
        #expect(!reason.contains("hunter2"))
    }

    @Test func aListedNameThatResolvesToAPrivateAddressIsRefused() async throws {
        let (outcome, received) = try await self.withWNS { settings, _ in
            settings.addresses = .globalOnly
        } _: { sender, wns in
            (await sender.outcome(of: try Samples.push(handle: wns.makeChannel())), wns.pushes.received)
        }
        #expect(outcome == .failure(.rejected(reason: "the host has only addresses that are not public")))
        #expect(received.isEmpty)
    }

    /// With a wildcard in the allowed hosts, anybody can name a host that does not exist. Only the
    /// device that named it may be delayed.
    @Test func anUnreachableHostNamedByADeviceDelaysOnlyThatDevice() async throws {
        let outcomes = try await self.withWNS { settings, _ in
            settings.allowedHosts += ["*.does-not-exist.invalid", "does-not-exist.invalid"]
        } _: { sender, wns in
            var outcomes: [SendOutcome] = []
            for host in ["a.does-not-exist.invalid", "does-not-exist.invalid"] {
                outcomes.append(await sender.outcome(of: try Samples.push(handle: "https://\(host)/?token=x")))
            }
            return outcomes
        }
        guard case .failure(.deviceBusy) = outcomes[0], case .failure(.unavailable) = outcomes[1] else {
            Issue.record("unexpected: \(outcomes)")
            return
        }
    }

    @Test func aNamedHostThatRefusesTokensCausesNoTokenFetch() async throws {
        let fetched = try await self.withWNS { settings, _ in
            settings.allowedHosts = settings.allowedHosts.map { "*.services.\($0)" }
        } _: { sender, wns in
            let channel = wns.makeChannel(host: SimulatorOptions.namedHost)
            for _ in 0..<5 {
                wns.pushes.answerNext(status: 401)
                _ = await sender.outcome(of: try Samples.push(handle: channel))
            }
            return wns.tokenRequests.acceptedCount
        }
        #expect(fetched == 1)
    }

    /// With a wildcard in the allowed hosts, a device can name any host of that domain. No such
    /// host may make the server pause the pushes to others, or believe that its credentials are
    /// refused.
    @Test(arguments: [
        (503, "Retry-After", "3600"), (429, "Retry-After", "3600"), (406, "X-Any", "x"), (500, "X-Any", "x"),
        (401, "X-Any", "x"), (410, "X-WNS-Error-Description", "The domain is blocked."),
    ])
    func aFailureOfANamedHostAffectsItsDeviceOnly(status: Int, header: String, value: String) async throws {
        let outcome = try await self.withWNS { settings, _ in
            settings.allowedHosts = settings.allowedHosts.map { "*.services.\($0)" }
        } _: { sender, wns in
            // The host answers twice, because after a 401 the sender tries again with a new access
            // token.
            for _ in 0..<2 { wns.pushes.answerNext(status: status, headers: [HeaderField(header, value)]) }
            let channel = wns.makeChannel(host: SimulatorOptions.namedHost)
            return await sender.outcome(of: try Samples.push(handle: channel))
        }
        guard case .failure(.deviceBusy(let reason, _)) = outcome, !reason.contains("could not connect") else {
            Issue.record("unexpected: \(outcome)")
            return
        }
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let (outcome, received) = try await self.withWNS { sender, wns in
            let location = HeaderField("Location", wns.makeChannel())
            wns.pushes.answerNext(status: 307, headers: [location])
            return (await sender.outcome(of: try Samples.push(handle: wns.makeChannel())), wns.pushes.received)
        }
        #expect(outcome == .failure(.rejected(reason: "HTTP 307")))
        #expect(received.count == 1)
    }
}
