import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

/// A daemon behind proxies, and two users with one notification each. For comparison, the visit
/// reads alice's notifications directly from the daemon.
struct Visit: Sendable {
    /// The result of a client's call, compared with the daemon's answer.
    enum Outcome: Equatable, Sendable {
        /// The client returns the daemon's answer.
        case fresh
        /// The client returns another answer than the daemon's, and reports no error.
        case wrong
        /// The client returns a value as stored, although it had stored none.
        case cached
        case interference(Interference.Kind)
        /// There was no answer.
        case offline
        case failed(String)
    }

    let site: Site
    /// Alice's notification.
    let id: Int64
    /// The registration id of another device of alice, which is not the client's device.
    let registration: String
    private let sessions: [String: Session]
    private let keys: [VerificationKey]
    private let payload: String

    /// Runs `body` with a daemon behind a harmless proxy, which `body` may replace.
    static func run(
        _ trust: Interferer.Trust,
        payload: String = "a secret text",
        _ body: (Visit) async throws -> Void
    ) async throws {
        let settings = ["QUOTAS_DEVICE_REQUESTS": "100000", "STORAGE_DEVICE_DEVICES": "1000"]
        _ = try await Site.run(
            [Site.Layer(proxy: .haproxy)],
            .tcp,
            users: ["alice", "bob"],
            settings: settings
        ) { site in
            let keys = trust == .signatures ? try await site.signatureKeys() : []
            let alice = try site.client(site.daemon.server, keys: [], user: "alice")
            let id = try await alice.send(payload).id
            let registration = try await alice.register(platform: "stream", handle: "another")
            // The notification is already marked as read, so a client's call that marks it changes
            // nothing.
            try await alice.markRead(id)
            _ = try await site.client(site.daemon.server, keys: [], user: "bob").send("Bob's")
            var sessions: [String: Session] = [:]
            for user in ["alice", "bob"] {
                sessions[user] = try await site.client(site.daemon.server, keys: [], user: user).signIn()
            }
            let visit = Visit(
                site: site,
                id: id,
                registration: registration,
                sessions: sessions,
                keys: keys,
                payload: payload
            )
            try await body(visit)
        }
    }

    /// Makes a client without stored data.
    func client(_ user: String = "alice") throws -> PushClient {
        try self.site.client(self.site.server, keys: self.keys, user: user)
    }

    /// Makes a client that is already signed in, so that only the request of the tested call
    /// passes the proxies.
    func signedInClient(_ user: String = "alice", deadline: Duration? = nil) throws -> PushClient {
        let session = try #require(self.sessions[user])
        return try self.client(.token(session.token, account: user, id: session.account), deadline: deadline)
    }

    /// Makes a client with these credentials.
    func client(_ credentials: PushClient.Credentials, deadline: Duration? = nil) throws -> PushClient {
        var options = PushClient.Options(testing: self.keys)
        if let deadline { options.deadline = deadline }
        return PushClient(server: try self.site.server, credentials: credentials, options: options)
    }

    func payload(of user: String) -> JSONValue {
        .string(user == "alice" ? self.payload : "Bob's")
    }

    /// Changes alice's notifications directly at the daemon, so that a client's stored answers are
    /// out of date.
    func moveOn() async throws {
        let direct = try self.direct()
        try await direct.markRead(self.id, false)
        _ = try await direct.send("a second secret")
    }

    /// Makes a call. If `mayAsk`, compares the result with the daemon's own answer.
    func outcome(of call: Interferer.Call, _ client: PushClient, mayAsk: Bool = true) async throws -> Outcome {
        let direct = try self.direct()
        do {
            switch call {
            case .notification:
                let fetched = try await client.notification(self.id)
                guard fetched.date == nil else { return .cached }
                guard mayAsk else { return .wrong }
                return try await fetched.value == direct.notification(self.id).value ? .fresh : .wrong
            case .sync:
                let fetched = try await client.sync()
                guard fetched.date == nil else { return .cached }
                guard mayAsk else { return .wrong }
                return try await fetched.value.notifications == self.inbox() ? .fresh : .wrong
            case .markRead:
                let item = try await client.markRead(self.id)
                return try await item == direct.notification(self.id).value ? .fresh : .wrong
            case .markAllRead: return try await client.markRead([self.id]) == [self.id] ? .fresh : .wrong
            case .register:
                let id = try await client.register(platform: "stream", handle: "0123456789abcdef")
                let devices = try await self.site.curl("/api/register", port: self.site.daemon.port)
                return devices.body.contains("\"Id\":\"\(id)\"") ? .fresh : .wrong
            }
        } catch PushClientError.offline {
            return .offline
        } catch {
            return self.kind(of: error).map(Outcome.interference) ?? .failed("\(error)")
        }
    }

    /// Returns alice's notifications from the daemon.
    func inbox() async throws -> [NotificationItem] {
        try await self.direct().sync().value.notifications
    }

    func kind(of error: any Error) -> Interference.Kind? {
        guard case .interference(let interference) = error as? PushClientError else { return nil }
        return interference.kind
    }

    func kind<Value>(of result: Result<Value, any Error>) -> Interference.Kind? {
        if case .failure(let error) = result { self.kind(of: error) } else { nil }
    }

    /// Makes a client that connects directly to the daemon.
    private func direct() throws -> PushClient {
        try self.site.client(self.site.daemon.server, keys: [], user: "alice")
    }
}

extension Site {
    /// Makes a client without stored data.
    func client(_ server: URL, keys: [VerificationKey], user: String) throws -> PushClient {
        PushClient(
            server: server,
            credentials: .basic(username: user, password: Stack.password),
            options: PushClient.Options(testing: keys)
        )
    }

    /// Returns the daemon's signing keys, read directly from it.
    func signatureKeys() async throws -> [VerificationKey] {
        let answer = try await self.curl("/.well-known/sealpost-keys", as: "", port: self.daemon.port)
        let keys = answer.body.matches(of: /"x":"([^"]+)"/).compactMap {
            VerificationKey(base64URL: String($0.output.1))
        }
        try #require(!keys.isEmpty, "\(answer.head)\(answer.body)")
        return keys
    }
}
