import CurlHTTP
import Foundation
import PushCore
import PushSenders
import PushSimulators
import Testing

/// Tests the sender with the simulator, over TLS. The simulator's browsers decrypt with OpenSSL.
@Suite(.timeLimit(.minutes(5))) struct WebPushEndToEndTests {
    @Test func aBrowserReadsTheIDAndNothingElse() async throws {
        let (outcome, requests, texts) = try await withWebPush { sender, service, key in
            let subscription = try service.makeSubscription(applicationServerKey: key.publicText)
            let outcome = await sender.outcome(of: try Samples.push(handle: subscription.json))
            let requests = service.pushes.received.map(\.request)
            return (outcome, requests, requests.map(service.plaintext))
        }
        #expect(outcome == .success(Acceptance()))
        #expect(texts == [#"{"secureId":"7"}"#])
        let names = try #require(requests.first).headers.map { $0.name.lowercased() }
        let expected = [
            "authorization", "content-type", "content-encoding", "ttl", "urgency", "topic", "content-length",
        ]
        #expect(Set(names) == Set(expected))
    }

    @Test func theBodyHasTheSameLengthForEachID() async throws {
        let ids: [Int64] = [1, 2_147_483_647, 9_007_199_254_740_991]
        let sizes = try await withWebPush { sender, service, _ in
            let subscription = try service.makeSubscription()
            for id in ids { _ = await sender.outcome(of: try Samples.push(id: id, handle: subscription.json)) }
            return service.pushes.received.map(\.request.body.count)
        }
        #expect(sizes == [230, 230, 230])
    }

    @Test func aSubscriptionThatHasEndedIsGone() async throws {
        let outcomes = try await withWebPush { sender, service, _ in
            let retired = try service.makeSubscription()
            service.retire(retired)
            let unknown = retired.json.replacing("/push/v1/", with: "/push/v1/x")
            return [
                await sender.outcome(of: try Samples.push(handle: retired.json)),
                await sender.outcome(of: try Samples.push(handle: unknown)),
            ]
        }
        #expect(
            outcomes == [
                .failure(.deviceGone(reason: "HTTP 410 Unregistered")),
                .failure(.deviceGone(reason: "HTTP 404 UnknownSubscription")),
            ]
        )
    }

    @Test func aSubscriptionForAnotherKeyIsAnUnknownDevice() async throws {
        let outcome = try await withWebPush { sender, service, _ in
            let other = try VAPIDKey(Secret(VAPIDKey.generateText()))
            let subscription = try service.makeSubscription(applicationServerKey: other.publicText)
            return await sender.outcome(of: try Samples.push(handle: subscription.json))
        }
        #expect(outcome == .failure(.deviceUnknown(reason: "HTTP 403 VapidPkHashMismatch")))
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let (outcome, count) = try await withWebPush { sender, service, _ in
            let location = HeaderField("Location", try service.makeSubscription().endpoint)
            service.pushes.answerNext(status: 308, headers: [location])
            let subscription = try service.makeSubscription()
            return (
                await sender.outcome(of: try Samples.push(handle: subscription.json)), service.pushes.received.count
            )
        }
        #expect(outcome == .failure(.deviceGone(reason: "HTTP 308")))
        #expect(count == 1)
    }

    @Test func anAllowedNameThatResolvesToAPrivateAddressIsRefused() async throws {
        let (outcome, count) = try await withWebPush {
            $0.addresses = .globalOnly
        } _: { sender, service, _ in
            let subscription = try service.makeSubscription()
            return (
                await sender.outcome(of: try Samples.push(handle: subscription.json)), service.pushes.received.count
            )
        }
        #expect(outcome == .failure(.rejected(reason: "the host has only addresses that are not public")))
        #expect(count == 0)
    }

    @Test(arguments: ["https://push.example/x", "https://localhost/x"])
    func aPushServiceThatIsNotAllowedIsNotCalled(endpoint: String) async throws {
        let outcome = try await withWebPush { sender, service, _ in
            let subscription = try service.makeSubscription()
            let json = subscription.json.replacing(subscription.endpoint, with: endpoint)
            return await sender.outcome(of: try Samples.push(handle: json))
        }
        #expect(outcome == .failure(.rejected(reason: "the push service's host is not in allowedHosts")))
    }

    @Test(arguments: [
        "https://127.0.0.1/x", "https://localhost/x", "https://push.example.com:8443/x", "https://intranet/x",
    ])
    func anyHostMeansPublicHosts(endpoint: String) async throws {
        let outcome = try await withWebPush {
            $0.allowedHosts = ["*"]
        } _: { sender, service, _ in
            let subscription = try service.makeSubscription()
            let json = subscription.json.replacing(subscription.endpoint, with: endpoint)
            return await sender.outcome(of: try Samples.push(handle: json))
        }
        #expect(outcome == .failure(.rejected(reason: "the push service's host is not in allowedHosts")))
    }

    /// With a wildcard in the allowed hosts, anybody can name a host that does not exist. Only the
    /// device that named it may be delayed.
    @Test func anUnreachableHostNamedByADeviceDelaysOnlyThatDevice() async throws {
        let outcomes = try await withWebPush {
            $0.allowedHosts += ["*.does-not-exist.invalid", "does-not-exist.invalid"]
        } _: { sender, service, _ in
            var outcomes: [SendOutcome] = []
            for host in ["a.does-not-exist.invalid", "does-not-exist.invalid"] {
                let subscription = try service.makeSubscription()
                let json = subscription.json.replacing(subscription.endpoint, with: "https://\(host)/x")
                outcomes.append(await sender.outcome(of: try Samples.push(handle: json)))
            }
            return outcomes
        }
        guard
            case .failure(.deviceBusy) = outcomes[0], case .failure(.unavailable) = outcomes[1]
        else {
            Issue.record("unexpected: \(outcomes)")
            return
        }
    }

    /// With a wildcard in the allowed hosts, a device can name any host of that domain. No such
    /// host may make the server pause the pushes to others, or believe that its key is refused.
    @Test(arguments: [(503, "3600", ""), (408, "3600", ""), (500, "x", ""), (401, "x", #"{"errno":109}"#)])
    func aFailureOfANamedHostAffectsItsDeviceOnly(status: Int, retryAfter: String, body: String) async throws {
        let outcome = try await withWebPush {
            $0.allowedHosts = $0.allowedHosts.map { "*.services.\($0)" }
        } _: { sender, service, _ in
            service.pushes.answerNext(status: status, headers: [HeaderField("Retry-After", retryAfter)], body: body)
            let json = try service.makeSubscription().json
                .replacing("https://localhost", with: "https://\(SimulatorOptions.namedHost)")
            return await sender.outcome(of: try Samples.push(handle: json))
        }
        guard case .failure(.deviceBusy(let reason, _)) = outcome, reason.hasPrefix("HTTP \(status)") else {
            Issue.record("unexpected: \(outcome)")
            return
        }
    }

    /// With a wildcard in the allowed hosts, a device can name a host that accepts requests and
    /// never answers. Such a host may occupy only few calls, so that most stay free for other
    /// hosts.
    @Test func aSilentNamedHostOccupiesFewCalls() async throws {
        let (busy, received, others) = try await withWebPush {
            $0.allowedHosts = $0.allowedHosts.map { "*.services.\($0)" }
            $0.connection.timeout = .seconds(10)
        } _: { sender, service, _ in
            service.pushes.setFaults([FaultRule(.noAnswer, when: [.next(100)])])
            let silent = try service.makeSubscription().json
                .replacing("https://localhost", with: "https://\(SimulatorOptions.namedHost)")
            let outcomes = try await withThrowingTaskGroup(of: SendOutcome.self) { group in
                for _ in 0..<40 { group.addTask { await sender.outcome(of: try Samples.push(handle: silent)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let received = service.pushes.received.count
            service.pushes.setFaults([])
            // The simulator would refuse the token, which is for another host than `localhost`, so
            // the test queues the answers.
            for _ in 0..<20 { service.pushes.answerNext(status: 201) }
            let other: @Sendable (Int) throws -> Push = { _ in
                try Samples.push(
                    handle: try service.makeSubscription().json
                        .replacing("https://localhost", with: "https://\(SimulatorOptions.otherNamedHost)")
                )
            }
            // Until the other host's first answer, its calls beyond its share wait for half a
            // second only.
            let first = try await sender.accepted(1, other)
            let others = try await sender.accepted(19, other) + first
            let busy = outcomes.count { if case .failure(.deviceBusy) = $0 { true } else { false } }
            return (busy, received, others)
        }
        #expect(busy == 40)
        // A single host gets at most half of the concurrent calls to hosts that have not answered
        // yet.
        #expect((1...8).contains(received), "\(received)")
        #expect(others == 20)
    }
}

@Suite(.timeLimit(.minutes(5))) struct WebhookEndToEndTests {
    private func withWebhook<Result: Sendable>(
        _ body: @Sendable (WebhookSender, WebhookSimulator) async throws -> Result,
        secret: @Sendable (String) -> String = { $0 }
    ) async throws -> Result {
        try await withProvider { authority, connection, loop in
            let receiver = try WebhookSimulator(authority: authority)
            let settings = WebhookSettings(
                url: receiver.url,
                secret: Secret(secret(receiver.secret)),
                connection: connection
            )
            let sender = try WebhookSender(settings, on: loop)
            return try await receiver.whileRunning { receiver in
                let result = try await body(sender, receiver)
                await sender.close()
                return result
            }
        }
    }

    private func push(_ handle: String = "device-1") throws -> Push {
        try Samples.push(handle: handle)
    }

    @Test func aVerifyingReceiverAcceptsThePush() async throws {
        let (outcome, bodies) = try await self.withWebhook { sender, receiver in
            let outcome = await sender.outcome(of: try self.push())
            return (outcome, receiver.pushes.received.map { String(decoding: $0.request.body, as: UTF8.self) })
        }
        #expect(outcome == .success(Acceptance()))
        #expect(bodies == [#"{"secureId":"7","handle":"device-1"}"#])
    }

    @Test func aWrongSecretIsAMisconfiguration() async throws {
        let outcome = try await self.withWebhook { sender, _ in
            await sender.outcome(of: try self.push())
        } secret: { _ in
            "whsec_" + String(repeating: "A", count: 32)
        }
        #expect(outcome == .failure(.misconfigured(reason: "HTTP 401")))
    }

    @Test func aDeviceThatTheReceiverRetiresIsGone() async throws {
        let outcomes = try await self.withWebhook { sender, receiver in
            receiver.retire("device-2")
            return [await sender.outcome(of: try self.push("device-2")), await sender.outcome(of: try self.push())]
        }
        #expect(outcomes == [.failure(.deviceGone(reason: "HTTP 410")), .success(Acceptance())])
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let (outcome, count) = try await self.withWebhook { sender, receiver in
            receiver.pushes.answerNext(status: 307, headers: [HeaderField("Location", receiver.url)])
            return (await sender.outcome(of: try self.push()), receiver.pushes.received.count)
        }
        #expect(outcome == .failure(.misconfigured(reason: "HTTP 307")))
        #expect(count == 1)
    }
}
