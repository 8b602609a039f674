import Foundation
import Logging
import PushAPI
import PushApplication
import PushClient
import PushCore
import PushSQLite
import PushSimulators
import PushStore
import Reactor
import ServiceLifecycle

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A live demonstration of the product's main job, line by line. Each printed statement is
/// checked, and a false statement ends the demonstration.
struct Story {
    private let secret = "Your test result is in: call Dr. Moreau on extension 4711."
    private let folder = FileManager.default.temporaryDirectory.path + "/sealpost-demo-\(UUID().uuidString)"

    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    func tell() async throws {
        defer {
            // A folder that cannot be removed does no harm: the next demonstration creates its
            // own.
            try? FileManager.default.removeItem(atPath: self.folder)
        }
        let providers = try Providers(folder: self.folder)
        let settings = [
            "SERVER_LISTEN": "127.0.0.1:0", "DATABASE": "\(self.folder)/sealpost.db",
            "KEYS": self.folder, "LOG_LEVEL": "warning",
        ]
        let configuration = try Configuration.load(
            file: providers.writeConfiguration(),
            environment: Dictionary(uniqueKeysWithValues: settings.map { ("SEALPOST_\($0)", $1) })
        ) { SQLiteDatabase(path: $0) }
        let place = configuration.storePlace
        let application = try Application(configuration, logger: configuration.makeLogger())
        try await providers.whileRunning {
            try await application.whileRunning { server in
                try await self.tell(application, in: place, at: server, with: providers)
            }
        }
    }

    // MARK: - Chapters

    private func tell(
        _ application: Application,
        in place: any StorePlace,
        at server: URL,
        with providers: Providers
    ) async throws {
        say("Three simulated providers on this machine speak HTTP/2 over TLS and check every token:")
        say("    APNs \(providers.apns.endpoint)   FCM \(providers.fcm.endpoint)   WNS \(providers.wns.endpoint)")
        say("Sealpost answers at \(server.absoluteString); its database is \(place)")
        let alice = try await self.signUp("alice", application, server)
        let mallory = try await self.signUp("mallory", application, server)

        say("")
        say("Alice registers her three phones:")
        let handles = [
            ("apns", String(repeating: "0123456789abcdef", count: 4)), ("gcm", "android-\(UUID().uuidString)"),
            ("wns", providers.wns.makeChannel()),
        ]
        var phones: [PushClient] = []
        for (platform, handle) in handles {
            let phone = self.client(of: "alice", server)
            let id = try await phone.register(platform: platform, handle: handle)
            phones.append(phone)
            say("    \(platform.padding(toLength: 4, withPad: " ", startingAt: 0)) registration \(id)")
        }

        say("")
        say("Alice posts a notification with this payload: \"\(self.secret)\"")
        let item = try await alice.send(self.secret)
        say("The notification has the id \(item.id). The providers received these bodies, byte for byte:")
        for (name, log) in [
            ("APNs", providers.apns.pushes), ("FCM", providers.fcm.pushes), ("WNS", providers.wns.pushes),
        ] {
            try await self.showPush(at: name, try await log.acceptedPush(1), id: item.id)
        }

        say("")
        say("Each phone fetches the payload over its own authenticated connection:")
        for (phone, (platform, _)) in zip(phones, handles) {
            let collected = try await phone.notification(item.id).value
            try self.check(collected.payload == .string(self.secret), "the payload is the one that was posted")
            say("    \(platform.padding(toLength: 4, withPad: " ", startingAt: 0)) \"\(self.secret)\"")
        }
        say("Every answer echoed the MyToken n of its request as n * 17 + 3; PushClient accepts no other answer.")
        try await self.showEcho(server)
        try await self.showStranger(mallory, item.id)
        try self.showDisk(application)
        say("")
        say("That is all: only the id went to the providers; the payload stayed on this machine.")
    }

    private func signUp(_ name: String, _ application: Application, _ server: URL) async throws -> PushClient {
        guard let username = Username(name) else { throw Broken(description: "\(name) is not a user name") }
        let hash = try PasswordHash(of: "correct horse: \(name)")
        let user = NewUser(username, role: .device, password: hash)
        _ = try await application.store.addUser(user, by: nil, now: Date())
        return self.client(of: name, server)
    }

    /// A client for one device of a user; each client keeps its own registration.
    private func client(of name: String, _ server: URL) -> PushClient {
        PushClient(
            server: server,
            credentials: .basic(username: name, password: "correct horse: \(name)"),
            options: PushClient.Options(signatures: .unsigned)
        )
    }

    private func showPush(at provider: String, _ push: ReceivedPush, id: Int64) async throws {
        let body = String(decoding: push.request.body, as: UTF8.self)
        say("    \(provider.padding(toLength: 4, withPad: " ", startingAt: 0)) \(body)")
        let everything = body + push.request.path + push.request.headers.map { "\($0.name): \($0.value)" }.joined()
        try self.check(body.contains(String(id)), "\(provider) got the id")
        for word in self.secret.split(separator: " ") where word.count > 3 {
            try self.check(!everything.contains(word), "\(provider) did not get \"\(word)\"")
        }
    }

    /// Sends one request without `PushClient`, to show the number that the client sends as
    /// `MyToken` and the number that the server answers.
    private func showEcho(_ server: URL) async throws {
        var request = URLRequest(url: server.appending(path: "/healthz"))
        request.setValue("1000", forHTTPHeaderField: MyToken.fieldName)
        let (_, response) = try await URLSession.shared.data(for: request)
        let echo = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: MyToken.fieldName)
        try self.check(echo == "17003", "the token is echoed")
        say("    MyToken: 1000 comes back as MyToken: 17003")
    }

    private func showStranger(_ stranger: PushClient, _ id: Int64) async throws {
        do {
            _ = try await stranger.notification(id)
            throw Broken(description: "another user got the payload")
        } catch PushClientError.problem(let problem) where problem.code == .notFound {
            say("")
            say("Mallory, another user, asks for the same id and gets: \(problem.status) \(problem.title)")
        }
    }

    private func showDisk(_ application: Application) throws {
        guard let store = application.store as? SQLiteStore else {
            throw Broken(description: "the store is not in SQLite")
        }
        for (name, bytes) in try store.bytesAtRest() {
            try self.check(bytes.range(of: Data(self.secret.utf8)) == nil, "the secret is not on the disk")
            say("\(name) has \(bytes.count) bytes, and the payload is not among them.")
        }
    }

    private func check(_ isTrue: Bool, _ claim: String) throws {
        guard isTrue else { throw Broken(description: "not so: \(claim)") }
    }
}
