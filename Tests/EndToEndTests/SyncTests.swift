import Cryptography
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import PushTesting
import Testing

/// A phone syncs with the real server, which runs in its own process, and fetches the
/// notifications that it has missed.
@Suite(.timeLimit(.minutes(5))) struct SyncTests {
    @Test(arguments: [false, true])
    func aColdStartIsOneRequestAndARestartIsA304(isSigned: Bool) async throws {
        let site = try await SyncSite(isSigned: isSigned)
        var ids: [Int64] = []
        _ = try await site.run { server in ids = try await site.send(200, to: server) }
        var last: (server: URL, inbox: Inbox)?
        let answered = try await site.run { server in
            let inbox = try await site.phone(of: server).sync()
            #expect(inbox.date == nil)
            #expect(Set(inbox.value.notifications.map(\.id)) == Set(ids))
            #expect(inbox.value.arrived == ids.sorted())
            let payloads = inbox.value.notifications.compactMap(\.payload?.text)
            #expect(Set(payloads) == Set((0..<200).map { "secret \($0)" }))

            // The app starts again: only its stored data is left.
            let again = try await site.phone(of: server).sync()
            #expect(again.date == nil)
            #expect(again.value.notifications == inbox.value.notifications)
            #expect(again.value.arrived.isEmpty)
            last = (server, again.value)
        }
        // The requests that the server has logged. The first one asks which account the
        // credentials belong to; the client then stores the account id in the folder.
        #expect(answered == ["GET 200", "GET 200", "GET 304"])
        // The inbox is the same when the server is gone.
        let (server, inbox) = try #require(last)
        let cached = try await site.phone(of: server).sync()
        #expect(cached.date != nil)
        #expect(cached.value.notifications == inbox.notifications)
    }

    @Test(arguments: [false, true])
    func changesByAnotherClientAreSynced(isSigned: Bool) async throws {
        let site = try await SyncSite(isSigned: isSigned)
        _ = try await site.run { server in
            let ids = try await site.send(5, to: server)
            let (here, there) = (site.phone(of: server), site.client(of: server))
            _ = try await here.sync()
            try await there.markRead(ids[0])
            try await there.markRead([ids[1], ids[2]])
            try await there.dismiss(ids[3])
            let sent = try await there.send("another")
            let inbox = try await here.sync().value
            #expect(Set(inbox.notifications.map(\.id)) == Set(ids + [sent.id]).subtracting([ids[3]]))
            #expect(Set(inbox.notifications.filter(\.isRead).map(\.id)) == Set(ids[0...2]))
            #expect(inbox.deleted == [ids[3]])
            let fetched = try await here.notification(ids[0])
            #expect(fetched.value.isRead)
            await #expect(throws: PushClientError.self) { try await here.notification(ids[3]) }
            try await there.markRead(ids[0], false)
            let again = try await here.notification(ids[0])
            #expect(again.date == nil)
            #expect(!again.value.isRead)
            let unread = try await here.sync().value.unreadCount
            #expect(unread == 3)
        }
    }

    @Test func answersSignedByAnotherKeyAreRejected() async throws {
        let site = try await SyncSite(isSigned: true)
        let other = PushClient.Options(testing: [SigningKey().publicKey])
        let answered = try await site.run { server in
            let client = PushClient(server: server, credentials: .token("none"), options: other)
            do {
                _ = try await client.sync()
                Issue.record("it was accepted")
            } catch PushClientError.interference(let interference) {
                #expect(interference.kind == .signature)
                #expect(interference.status == 401)
            }
        }
        #expect(answered == ["GET 401"])
    }

    /// A client that requires signatures sends the password only after a signed 401.
    @Test func aChallengeIsAnsweredOnce() async throws {
        let site = try await SyncSite(isSigned: true)
        let answered = try await site.run { server in
            let right = site.client(of: server, .challenged(username: "alice", password: SyncSite.password))
            for _ in 0..<2 { _ = try await right.sync() }
            let wrong = site.client(of: server, .challenged(username: "alice", password: "wrong horse battery"))
            await expectUnauthorized { try await wrong.sync() }
        }
        #expect(answered == ["GET 401", "GET 200", "GET 200", "GET 304", "GET 401", "GET 401"])
    }
}

/// A daemon that runs from time to time, and a phone of `alice` that stores the answers it trusts.
private struct SyncSite: Sendable {
    static let password = "correct horse battery"

    private let folder: TemporaryFolder
    private let store: PushClient.Store
    private let options: PushClient.Options

    /// If `isSigned`, the client pins the daemon's signing key.
    init(isSigned: Bool) async throws {
        self.folder = try TemporaryFolder()
        let folder = URL(fileURLWithPath: self.folder.file("store"))
        self.store = .folder(folder, key: SymmetricKey(size: .bits256))
        _ = try await Daemon.run(["user", "add", "alice", "--password-stdin"], in: self.folder, input: Self.password)
        guard isSigned else {
            self.options = PushClient.Options(testing: [])
            return
        }
        let key = SigningKey()
        let file = URL(fileURLWithPath: self.folder.file("var/signing-keys"))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try "1 \(key.rawRepresentation.base64EncodedString())\n".write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        self.options = PushClient.Options(testing: [key.publicKey])
    }

    /// Runs the daemon while `body` runs. Returns the method and the status of each request that
    /// the daemon has answered.
    func run(_ body: (URL) async throws -> Void) async throws -> [String] {
        let settings = ["SERVER_LISTEN": "127.0.0.1:0", "LOG_LEVEL": "debug"]
        let daemon = try await Daemon(in: self.folder, settings: settings)
        // The test reads the log while the daemon writes it, because a full pipe would block the
        // daemon.
        async let ended = daemon.process.end()
        do {
            try await body(daemon.server)
        } catch {
            daemon.process.signal(SIGTERM)
            _ = await ended
            throw error
        }
        daemon.process.signal(SIGTERM)
        let end = await ended
        #expect(end.code == 0)
        return end.errors.matches(of: /request answered .*?method=(\w+).*? status=(\d+)/).map { "\($0.1) \($0.2)" }
    }

    /// Makes a client that keeps its data only in memory.
    func client(
        of server: URL,
        _ credentials: PushClient.Credentials = .basic(username: "alice", password: SyncSite.password)
    ) -> PushClient {
        PushClient(server: server, credentials: credentials, options: self.options)
    }

    /// Makes a client of the phone. All clients of the phone use the same stored data.
    func phone(of server: URL) -> PushClient {
        PushClient(
            server: server,
            credentials: .basic(username: "alice", password: Self.password),
            options: self.options,
            store: self.store
        )
    }

    /// Sends `count` notifications that the phone has not fetched. Returns their ids.
    func send(_ count: Int, to server: URL) async throws -> [Int64] {
        let client = self.client(of: server)
        return try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<count { group.addTask { try await client.send("secret \(number)").id } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
