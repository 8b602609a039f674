import Foundation
import PushAPI
import PushClient
import Testing

/// A proxy that terminates TLS. It sends other requests with the phone's `MyToken` to the server,
/// and gives the server's signed answers to the phone.
@Suite(.timeLimit(.minutes(5))) struct SwappedAnswerTests {
    /// The outcome of a call.
    private enum Outcome: Equatable {
        case named(Interference.Kind)
        /// The client returned its stored value, and still stores it.
        case unchanged
        case accepted
        case failed(String)
    }

    private static let proxy = [Site.Layer(proxy: .haproxy, file: "proxies/haproxy-exchange.cfg")]

    @Test func anAnswerToAnotherRequestIsRejected() async throws {
        try await Visit.run(.signatures) { visit in
            try await visit.site.replaceProxies(with: Self.proxy)
            for call in Interferer.Call.allCases {
                #expect(try await visit.outcome(of: call, visit.client()) == .fresh, "the proxy alone does no harm")
            }
            var statuses: [String] = []
            for call in Exchange.Call.allCases {
                let exchanges = Exchange.all(of: call, visit.id, registration: visit.registration)
                let attempt = try await Self.attempt(call, visit)
                let planned = exchanges.map { $0.line(visit.id) }
                _ = try await Self.exchanges(visit, planned)
                for exchange in exchanges {
                    let outcome = try await attempt()
                    let isUnchanged = [.cachedNotification, .cachedInbox, .signOut].contains(call)
                    let kind = exchange.demand == .asked ? Interference.Kind.signature : .insufficientCoverage
                    #expect(outcome == (isUnchanged ? .unchanged : .named(kind)), "\(exchange)")
                }
                // The proxy must have exchanged each request once, and passed none of them on
                // unchanged.
                let done = try await Self.exchanges(visit, nil)
                #expect(
                    done.map {
                        $0.split(separator: "\t", omittingEmptySubsequences: false).dropLast().joined(separator: "\t")
                    } == planned
                )
                statuses += done.compactMap { $0.split(separator: "\t").last.map(String.init) }
            }
            #expect(Set(statuses).isSuperset(of: ["200", "404"]))
            if Site.hasAllProxies {
                #expect(statuses.count >= 1000)
                #expect(Set(statuses).isSuperset(of: ["200", "201", "304", "400", "401", "403", "404", "405"]))
                print(
                    "\(statuses.count) answers exchanged; their statuses:",
                    Set(statuses).sorted().joined(separator: ", ")
                )
            }
        }
    }

    /// The registration never reaches the server. Without signatures, the client accepts the
    /// answer, because the echo of `MyToken` is right.
    @Test func aProxyCanSwallowARegistrationWithoutSignatures() async throws {
        try await Visit.run(.echo) { visit in
            try await visit.site.replaceProxies(with: Self.proxy)
            let request = Exchange.Request(method: "HEAD", target: "/healthz")
            let exchange = Exchange(call: .register, request: request, caller: .nobody, demand: .asked)
            _ = try await Self.exchanges(visit, [exchange.line(visit.id)])
            #expect(try await visit.outcome(of: .register, visit.client()) == .wrong)
            #expect(try await Self.exchanges(visit, nil) == ["\(exchange.line(visit.id))\t200"])
        }
    }

    /// The proxy terminates TLS and has an account. It sends its own credentials instead of the
    /// phone's, and the signatures of the answers are valid.
    @Test func anAnswerForAnotherUserIsRejected() async throws {
        try await Visit.run(.signatures) { visit in
            try await visit.site.replaceProxies(with: Self.proxy)
            let session = try await visit.client().signIn()
            let credentials = PushClient.Credentials.token(session.token, account: "alice", id: session.account)
            let client = try visit.client(credentials)
            let registration = try await client.register(platform: "stream", handle: "a")
            let inbox = try await client.sync().value.notifications
            let item = try await client.notification(visit.id).value
            let mallory = Data("bob:\(Stack.password)".utf8).base64EncodedString()
            _ = try await Self.exchanges(visit, ["as\tBasic \(mallory)"])
            let rounds = Site.hasAllProxies ? 1000 : 20
            for _ in 0..<rounds {
                let list = try await client.sync()
                #expect(list.date != nil && list.value.notifications == inbox)
                let fetched = try await client.notification(visit.id)
                #expect(fetched.date != nil && fetched.value == item)
                let shown = await Self.outcome(visit, client) { _ = try await $0.markRead([visit.id]) }
                #expect(shown == .named(.wrongAccount))
                let registered = await Self.outcome(visit, client) {
                    try await $0.register(platform: "stream", handle: "b")
                }
                #expect(registered == .named(.wrongAccount))
                // Each call has its own client, because signing out deletes the stored data.
                #expect(try await visit.client(credentials).signOut() == false)
            }
            let count = try await Self.exchanges(visit, nil).count
            #expect(count >= 5 * rounds)
            print("\(count) answers for another account")
            _ = try await Self.exchanges(visit, [])
            // No stored data is lost, and the phone's session still exists, because the sign-out
            // never reached the server.
            #expect(client.registrationID == registration)
            #expect(try await client.cachedInbox().notifications == inbox)
            let after = try await client.sync()
            #expect(after.date == nil && after.value.notifications == inbox)
            #expect(try await client.signOut())
            await #expect(throws: PushClientError.self) { try await visit.client(credentials).sync() }
        }
    }

    // MARK: - Private

    /// Unless `lines` is `nil`, tells the proxy which requests it must exchange from now on.
    /// Returns the exchanges that it has made.
    private static func exchanges(_ visit: Visit, _ lines: [String]?) async throws -> [String] {
        let options = lines.map { ["--request", "PUT", "--data-binary", $0.joined(separator: "\n")] } ?? []
        let answer = try await visit.site.curl("/exchanges", as: "", options: options)
        #expect(answer.status == 200)
        return answer.body.split(separator: "\n").map(String.init)
    }

    /// Prepares a call. Returns a function that makes the call, and that may be called several
    /// times.
    private static func attempt(_ call: Exchange.Call, _ visit: Visit) async throws -> () async throws -> Outcome {
        let id = visit.id
        func fresh(_ body: @escaping (PushClient) async throws -> Void) -> () async throws -> Outcome {
            { try await Self.outcome(visit, visit.client(), body) }
        }
        switch call {
        case .requestRegistration, .register:
            return {
                let client = try visit.client()
                let outcome = await Self.outcome(visit, client) {
                    try await $0.register(platform: "stream", handle: "a")
                }
                return client.registrationID == nil ? outcome : .accepted
            }
        case .unregister:
            let client = try visit.client()
            let registration = try await client.register(platform: "stream", handle: "a")
            return {
                let outcome = await Self.outcome(visit, client) { try await $0.unregister() }
                return client.registrationID == registration ? outcome : .accepted
            }
        case .cachedNotification:
            let client = try visit.client()
            let cached = try await client.notification(id).value
            return {
                // If the client throws, it has taken a refusal as the server's answer.
                let shown = try? await client.notification(id)
                return shown?.date != nil && shown?.value == cached ? .unchanged : .accepted
            }
        case .cachedInbox:
            let client = try visit.client()
            let cached = try await client.sync().value.notifications
            return {
                let shown = try? await client.sync()
                return shown?.date != nil && shown?.value.notifications == cached ? .unchanged : .accepted
            }
        case .notification: return fresh { _ = try await $0.notification(id) }
        case .sync: return fresh { _ = try await $0.sync() }
        case .send: return fresh { _ = try await $0.send("never sent") }
        case .markRead: return fresh { try await $0.markRead(id) }
        case .markAllRead: return fresh { try await $0.markRead([id]) }
        case .dismiss: return fresh { try await $0.dismiss(id) }
        case .signIn: return fresh { _ = try await $0.signIn() }
        case .signOut:
            return {
                // The client retries until the server itself has answered.
                try await visit.client(.token("none")).signOut() ? .accepted : .unchanged
            }
        }
    }

    private static func outcome(
        _ visit: Visit,
        _ client: PushClient,
        _ body: (PushClient) async throws -> Void
    ) async -> Outcome {
        do {
            try await body(client)
            return .accepted
        } catch {
            return visit.kind(of: error).map(Outcome.named) ?? .failed("\(error)")
        }
    }
}
