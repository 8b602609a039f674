import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

/// A phone in networks whose proxies store, change, truncate and invent answers.
@Suite(.timeLimit(.minutes(5))) struct ProxyInterferenceTests {
    @Test(arguments: Interferer.all, Interferer.Trust.allCases)
    func everyInterferenceIsDetectedAndNamed(interferer: Interferer, trust: Interferer.Trust) async throws {
        try await Visit.run(trust, payload: interferer.payload) { visit in
            let phone = try visit.signedInClient()
            let cached = try await phone.notification(visit.id).value
            let cachedInbox = try await phone.sync().value.notifications

            try await visit.site.replaceProxies(with: interferer.layers)
            if interferer.isCache {
                // The fetches come last, because a cache drops an entry when a client changes it
                // through the cache (RFC 9111 section 4.4).
                for call in Interferer.Call.allCases.reversed() {
                    let outcome = try await visit.outcome(of: call, visit.signedInClient())
                    #expect(outcome == .fresh, "the first \(call)")
                }
                _ = try await phone.sync()
            }
            if !interferer.needsNoDaemon { try await interferer.sign.expectToBeSeen(visit) }
            try await visit.moveOn()
            if interferer.needsNoDaemon { try await interferer.sign.expectToBeSeenWithoutDaemon(visit) }

            // The client returns the stored notification. The returned date means that the
            // notification is not fresh.
            if case .interference = interferer.findings(.notification, trust) {
                let shown = try await phone.notification(visit.id)
                #expect(shown.value == cached)
                #expect(shown.date != nil)
            }
            if case .interference = interferer.findings(.sync, trust) {
                let shown = try await phone.sync()
                if interferer.isCache, shown.date == nil {
                    // HAProxy and Squid do not answer conditional requests from the cache, so the
                    // client gets the true list.
                    let inbox = try await visit.inbox()
                    #expect(shown.value.notifications == inbox)
                } else {
                    #expect(shown.value.notifications == cachedInbox)
                    #expect(shown.date != nil)
                }
            }

            try await self.expectFindings(of: interferer, trust, visit)
        }
    }

    /// All changes are tested with one daemon. A change ends with its proxy, so it does not affect
    /// the test of the next change.
    @Test(arguments: Interferer.Trust.allCases)
    func eachChangeOfAnAnswersBytesIsNamed(trust: Interferer.Trust) async throws {
        try await Visit.run(trust) { visit in
            for interferer in Interferer.wires {
                try await visit.site.replaceProxies(with: interferer.layers)
                try await self.expectFindings(of: interferer, trust, visit)
            }
        }
    }

    /// Makes each call with a client without stored data, and expects the verdict that
    /// `interferer` defines for this call.
    private func expectFindings(of interferer: Interferer, _ trust: Interferer.Trust, _ visit: Visit) async throws {
        for call in Interferer.Call.allCases {
            let client = try visit.signedInClient(deadline: interferer.deadline)
            let began = ContinuousClock.now
            let outcome = try await visit.outcome(of: call, client, mayAsk: !interferer.needsNoDaemon)
            let what = "\(interferer.testDescription), \(call): \(outcome)"
            // The proxy leaves an endless answer open for much longer, also on a slow machine.
            if let deadline = interferer.deadline { #expect(ContinuousClock.now - began < deadline * 10, "\(what)") }
            switch interferer.findings(call, trust) {
            case .truth: #expect(outcome == .fresh, "\(what)")
            case .belief: #expect(outcome == .wrong, "\(what)")
            case .offline: #expect(outcome == .offline, "\(what)")
            case .interference(let kinds): #expect(kinds.contains { outcome == .interference($0) }, "\(what)")
            }
        }
    }

    @Test(arguments: Interferer.all.filter(\.isCache), Interferer.Trust.allCases)
    func anotherUsersCachedAnswerIsNeverShown(cache: Interferer, trust: Interferer.Trust) async throws {
        try await Visit.run(trust) { visit in
            try await visit.site.replaceProxies(with: cache.layers)
            if !cache.needsNoDaemon { try await cache.sign.expectToBeSeen(visit) }
            // Both users fetch at the same time, because a faulty proxy may answer several waiting
            // users with the answer to one request.
            let inboxes = await withTaskGroup { group in
                for user in Array(repeating: ["alice", "bob"], count: 8).joined() {
                    group.addTask { (user, await Result { try await visit.signedInClient(user).sync() }) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for (user, result) in inboxes {
                switch result {
                case .success(let inbox):
                    #expect(inbox.date == nil)
                    #expect(inbox.value.notifications.map(\.payload) == [visit.payload(of: user)])
                case .failure(let error): #expect(visit.kind(of: error) != nil, "\(error)")
                }
            }
            if cache.needsNoDaemon { try await cache.sign.expectToBeSeenWithoutDaemon(visit) }
            for user in ["alice", "bob"] {
                let late = await Result { try await visit.signedInClient(user).sync() }
                #expect(visit.kind(of: late) == .wrongEcho, "\(user): \(late)")
            }
        }
    }
}

extension Interferer.Sign {
    /// Checks with `curl` that the proxy really does its harm after the daemon has ended. The
    /// proxy must then repeat the answer to an earlier fetch.
    fileprivate func expectToBeSeenWithoutDaemon(_ visit: Visit) async throws {
        _ = try await visit.site.curl(
            "/api/notifications/\(visit.id)?curl",
            options: ["--compressed", "--header", "MyToken: 1"]
        )
        await visit.site.stopDaemon()
        try await self.expectToBeSeen(visit)
    }

    /// Checks with `curl` that the proxy really does its harm. No client uses this address, so no
    /// cache can give the answer to a client.
    fileprivate func expectToBeSeen(_ visit: Visit) async throws {
        let (site, path) = (visit.site, "/api/notifications/\(visit.id)?curl")
        let options = [
            "--compressed", "--header", "MyToken: 1", "--header",
            "Accept-Signature: \(ResponseVerifier.acceptSignature(keyID: nil))",
        ]
        // The options for requests that want no signature.
        let plain = ["--compressed", "--header", "MyToken: 1"]
        switch self {
        case .repeats:
            let first = try await site.curl(path, options: plain)
            let second = try await site.curl(path, options: plain)
            let both = "\(first.head)\n\n\(second.head)"
            #expect(first.status == 200, "\(both)")
            #expect(first.values("X-Request-Id").count == 1, "\(both)")
            #expect(first.values("X-Request-Id") == second.values("X-Request-Id"), "\(both)")
        case .own(let status):
            let answer = try await site.curl(path, options: plain)
            #expect(answer.status == status, "\(answer.head)")
            #expect(answer.values("X-Request-Id").isEmpty, "\(answer.head)")
        case .otherText:
            let (own, other) = try await (
                site.curl(path, port: site.daemon.port, options: plain), site.curl(path, options: plain)
            )
            #expect(other.status == own.status, "\(other.head)")
            #expect(other.values("MyToken") == ["20"], "\(other.head)")
            #expect(other.body != own.body)
        case .cut:
            let (own, other) = try await (
                site.curl(path, port: site.daemon.port, options: plain), site.curl(path, code: 18, options: plain)
            )
            #expect(own.body.hasPrefix(other.body))
            #expect(own.body.utf8.count > other.body.utf8.count)
        case .lacks(let name):
            // An answer has a signature only if the request wants one. It has an entity tag only
            // if the request wants no signature.
            for options in name == "ETag" ? [plain] : [options] {
                let own = try await site.curl(path, port: site.daemon.port, options: options)
                let other = try await site.curl(path, options: options)
                #expect(own.values(name).count == 1, "\(own.head)")
                #expect(other.values(name).isEmpty, "\(other.head)")
            }
        case .ofItself: break
        case .shows(let words):
            let head = try await site.curl(path, options: plain).head + "\r\n"
            #expect(head.contains(words))
        }
    }
}

extension Result where Failure == any Error, Success: Sendable {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
