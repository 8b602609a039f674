import Foundation
import PushAPI
import PushClient
import Testing

/// Many simultaneous users behind one proxy with its file in `config/`.
@Suite(.timeLimit(.minutes(5))) struct SharedProxyTests {
    private static let users = Array(
        ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"].prefix(Site.hasAllProxies ? 8 : 4)
    )
    /// The number of rounds for each user. A round has nine requests, so with all proxies there
    /// are some thousand requests.
    private static let rounds = Site.hasAllProxies ? 50 : 4

    @Test(arguments: Site.Way.all, Interferer.Trust.allCases)
    func allUsersAreServedAndSeeOnlyTheirOwn(way: Site.Way, trust: Interferer.Trust) async throws {
        _ = try await Site.run(
            [Site.Layer(proxy: way.proxy)],
            way.link,
            users: Self.users,
            // A log line for each request would fill the pipe, which the test reads only at the
            // end.
            settings: ["QUOTAS_DEVICE_REQUESTS": "1000000", "LOG_LEVEL": "info"]
        ) { site in
            let keys = trust == .signatures ? try await site.signatureKeys() : []
            // The users sign in one after the other, and then use tokens. The check of a password
            // is slow, and not the subject of this test.
            var tokens: [String: String] = [:]
            for user in Self.users {
                tokens[user] = try await site.client(site.daemon.server, keys: [], user: user).signIn().token
            }
            try await withThrowingTaskGroup { [tokens] group in
                for (user, token) in tokens {
                    let client = PushClient(
                        server: try site.server,
                        credentials: .token(token, account: user),
                        options: PushClient.Options(testing: keys)
                    )
                    group.addTask { try await Self.use(client, as: user) }
                    group.addTask { try await Self.useCurl(as: user, tokens, site) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Makes all kinds of requests of an app in each round. Any error fails the test.
    private static func use(_ client: PushClient, as user: String) async throws {
        for round in 0..<Self.rounds {
            let id = try await client.send("\(user)'s \(round)").id
            let fetched = try await client.notification(id)
            #expect(fetched.date == nil)
            #expect(fetched.value.payload == .string("\(user)'s \(round)"))
            // The notification is unchanged, so the server answers 304.
            #expect(try await client.notification(id) == fetched)
            #expect(try await client.markRead(id).isRead)
            let inbox = try await client.sync()
            #expect(inbox.date == nil)
            #expect(inbox.value.notifications.contains { $0.id == id && $0.isRead })
            #expect(inbox.value.notifications.allSatisfy { $0.payload?.text?.hasPrefix("\(user)'s ") == true })
            // The second sync must not report the notification as new again.
            #expect(try await !client.sync().value.arrived.contains(id))
            #expect(try await client.markRead([id]) == [id])
            let registration = try await client.register(platform: "stream", handle: "\(user)-\(round)")
            #expect(client.registrationID == registration)
            if round.isMultiple(of: 2) { try await client.dismiss(id) }
        }
    }

    private static func useCurl(as user: String, _ tokens: [String: String], _ site: Site) async throws {
        let other = user == "alice" ? "bob" : "alice"
        let (mine, theirs) = try (Self.bearer(#require(tokens[user])), Self.bearer(#require(tokens[other])))
        for round in 0..<max(Self.rounds / 10, 1) {
            let text = "\(user)'s \(round) by curl"
            let posted = try await site.curl("/api/notifications", as: "", options: mine + ["--data", "\"\(text)\""])
            #expect(posted.status == 200)
            let id = try #require(posted.body.firstMatch(of: /"Id":(\d+)/)).output.1
            // `curl` sends five requests on one connection.
            let fetched = try await site.curl("/api/notifications/\(id)?[1-5]", as: "", options: mine)
            let payloads = fetched.body.matches(of: /"Payload":"([^"]*)"/).map { String($0.output.1) }
            #expect(payloads == Array(repeating: text, count: 5))
            #expect(try await site.curl("/api/notifications/\(id)", as: "", options: theirs).status == 404)
            let list = try await site.curl(
                "/api/notifications?limit=500",
                as: "",
                options: mine + ["--compressed"]
            )
            #expect(list.status == 200)
            #expect(list.body.matches(of: /"Payload":"([^']*)'s/).allSatisfy { $0.output.1 == user })
            let tag = try #require(fetched.values("ETag").first)
            let condition = ["--header", "If-None-Match: \(tag)"]
            #expect(try await site.curl("/api/notifications/\(id)", as: "", options: mine + condition).status == 304)
        }
    }

    private static func bearer(_ token: String) -> [String] { ["--header", "Authorization: Bearer \(token)"] }
}
