import Foundation
import PostgreSQL
import PushAPI
import PushCore
import PushPostgreSQL
import PushServer
import PushStore
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// An operator rotates the keys while a daemon runs, and daemons are killed meanwhile.
@Suite(.timeLimit(.minutes(5))) struct KeyRotationTests {
    private let folder: TemporaryFolder
    private var configuration = Configuration()

    init() throws {
        self.folder = try TemporaryFolder()
        self.configuration.database = self.folder.file("var/sealpost.db")
        self.configuration.keys = self.folder.file("var")
    }

    /// Stores `count` payloads, each with its own number as text.
    private func fill(_ count: Int64) async throws {
        let store = try self.configuration.openStore()
        let name = try #require(Username("alice"))
        _ = try await store.addUser(name, role: .device, password: PasswordHash(phc: "none"), now: Date())
        let alice = try #require(try await store.makeReader().user(named: name))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...count {
                group.addTask {
                    let id = try #require(NotificationID(rawValue: number))
                    let notification = NewNotification(
                        id: id,
                        sender: alice.id,
                        sealedPayload: try store.vault.seal(
                            Data("\(number)".utf8),
                            in: .payload(id, sender: alice.id)
                        ),
                        audience: store.hashed(Audience([.tag(Tag(of: name))])),
                        createdAt: Date(),
                        expiresAt: Date() + 3600
                    )
                    #expect(try await store.post(notification) == .stored(pushes: 0, hasWork: false))
                }
            }
            try await group.waitForAll()
        }
        await store.close()
    }

    private func check(_ count: Int64) async throws {
        let store = try self.configuration.openStore()
        let reader = try store.makeReader()
        let name = try #require(Username("alice"))
        let alice = try #require(try await reader.user(named: name))
        for number in 1...count {
            let id = try #require(NotificationID(rawValue: number))
            let found = try await reader.notification(id, for: alice.id, alsoAsSender: false, now: Date())
            let sealed = try #require(found).sealedPayload
            let payload = try store.vault.open(sealed, in: .payload(id, sender: alice.id))
            #expect(payload == Data("\(number)".utf8))
        }
        await store.close()
    }

    private func keys(_ arguments: String...) async throws -> ChildProcess.Ended {
        try await Daemon.run(["keys"] + arguments, in: self.folder)
    }

    private var inUse: [UInt32] {
        get throws { try self.configuration.storePlace.dataKeys().map(\.number) }
    }

    private func waitUntil(inUse numbers: [UInt32]) async throws {
        try await eventually { try self.inUse == numbers }
    }

    @Test func aRotationSurvivesKillsAndFreesTheOldKey() async throws {
        let count: Int64 = 3000
        try await self.fill(count)
        #expect(try await self.keys("rotate").code == 0)
        for _ in 0..<3 {
            let daemon = try await Daemon(in: self.folder)
            await daemon.kill()
        }
        try await self.check(count)
        let daemon = try await Daemon(in: self.folder)
        try await self.waitUntil(inUse: [2])
        #expect(await daemon.terminate() == 0)
        let removed = try await self.keys("remove", "1")
        #expect(removed.code == 0, "\(removed.output)")
        #expect(try KeyringFile(self.configuration.keyring).load().numbers == [2])
        try await self.check(count)
    }

    @Test func aRunningDaemonReloadsAGoodKeyringAndRefusesABadOne() async throws {
        try await self.fill(300)
        let original = try String(contentsOfFile: self.configuration.keyring, encoding: .utf8)
        let daemon = try await Daemon(in: self.folder)
        #expect(try await self.keys("rotate").code == 0)
        let used = try await self.keys("remove", "1")
        #expect(used.code == 1)
        let shape = /key 1 is in use since \S+, and (\d+) stored values are encrypted with it: run sealpost keys reload/
        let needed = try #require(used.errors.firstMatch(of: shape), "\(used.errors)").output.1
        #expect(try #require(Int(needed)) >= 300)
        for (number, reason) in [("2", "key 2 is in use for encryption; "), ("9", "it contains no key 9\n")] {
            let refused = try await self.keys("remove", number)
            #expect(refused.code == 1)
            #expect(refused.errors.hasPrefix("sealpost: the keyring var/keyring: \(reason)"), "\(refused.errors)")
        }
        let before = try await self.keys("list")
        let rows = "2  encrypts  not yet in use; run sealpost keys reload\n1  decrypts  in use since"
        #expect(before.output.contains(rows), "\(before.output)")
        daemon.process.signal(SIGHUP)
        #expect(await daemon.process.errors(until: "unused=1").contains("keyring reloaded"))
        #expect(try self.inUse == [2])

        // Simulates that an operator restores an old keyring.
        let good = try String(contentsOfFile: self.configuration.keyring, encoding: .utf8)
        try self.write(original)
        daemon.process.signal(SIGHUP)
        #expect(await daemon.process.errors(until: "stays in use").contains("lacks key 2"))
        #expect(try await self.keys("list").code == 78)
        let doctor = try await Daemon.run(["doctor"], in: self.folder)
        #expect(
            doctor.output.contains("fail keyring: the keyring does not match the database: it lacks key 2"),
            "\(doctor.output)"
        )
        #expect(await daemon.terminate() == 0)
        let start = try await Daemon.run(["serve"], in: self.folder)
        #expect(start.code == 78)
        #expect(start.errors.contains("lacks key 2"))
        try self.write(good)
        try await self.check(300)
    }

    @Test func keysReloadWaitsForTheServerToReencryptAllValues() async throws {
        try await self.fill(300)
        let original = try String(contentsOfFile: self.configuration.keyring, encoding: .utf8)
        let daemon = try await Daemon(in: self.folder)
        #expect(try await self.keys("rotate").code == 0)
        let reloaded = try await self.keys("reload")
        #expect(reloaded.code == 0 && reloaded.errors.isEmpty, "\(reloaded.errors)")
        let shape = /key 2 encrypts; (\d+) values re-encrypted; key 1 no longer in use\n/
        let renewed = try #require(reloaded.output.wholeMatch(of: shape), "\(reloaded.output)").output.1
        #expect(try #require(Int(renewed)) >= 300)
        #expect(try self.inUse == [2])
        let audit = try await Daemon.run(["audit", "list", "--limit", "1"], in: self.folder)
        #expect(
            audit.output.contains("\tkeys.change\tkey 2\t\tlocal \(LocalUser.name(of: geteuid()))\t"),
            "\(audit.output)"
        )
        let again = try await self.keys("reload", "--json")
        #expect(again.output == #"{"Seals":2,"Renewed":0,"Unreadable":0,"Unused":[]}"# + "\n")

        // Simulates that an operator restores an old keyring.
        let good = try String(contentsOfFile: self.configuration.keyring, encoding: .utf8)
        try self.write(original)
        let refused = try await self.keys("reload")
        #expect(refused.code == 78 && refused.errors.contains("the old keyring stays in use: "), "\(refused.errors)")
        #expect(refused.errors.contains("lacks key 2"))
        try self.write(good)
        #expect(await daemon.terminate() == 0)
        try await self.check(300)
    }

    /// Asks the daemon for a reload, and disconnects when the reload has begun.
    private func beginReload() throws {
        struct Leaving: Error {}
        let place = AdminSocket(path: self.folder.file("var/admin/sealpost.sock"))
        let socket = try #require(try place.connect())
        var exchange = LocalExchange(socket, timeout: .seconds(60))
        do {
            _ = try exchange.ask("POST", LocalPaths.keys, []) { line in
                #expect(String(decoding: line, as: UTF8.self) == "{\"Passed\":0}\n")
                throw Leaving()
            }
            Issue.record("nothing was answered")
        } catch is Leaving {}
    }

    @Test func aReloadContinuesAfterItsCommandHasGone() async throws {
        try await self.fill(3000)
        let daemon = try await Daemon(in: self.folder)
        #expect(try await self.keys("rotate").code == 0)
        try self.beginReload()
        try await self.waitUntil(inUse: [2])
        #expect(await daemon.terminate() == 0)
        try await self.check(3000)
    }

    @Test(arguments: [true, false])
    func aReloadInterruptedByAKillIsFinishedByTheNext(withAServer: Bool) async throws {
        try await self.fill(3000)
        let killed = try await Daemon(in: self.folder)
        #expect(try await self.keys("rotate").code == 0)
        try self.beginReload()
        await killed.kill()
        #expect(try self.inUse == [1, 2], "it was not over")
        let daemon = withAServer ? try await Daemon(in: self.folder) : nil
        let next = try await self.keys("reload")
        #expect(next.code == 0 && next.output.hasPrefix("key 2 encrypts; "), "\(next.output)\(next.errors)")
        try await self.waitUntil(inUse: [2])
        #expect(await daemon?.terminate() ?? 0 == 0)
        try await self.check(3000)
    }

    /// A server stores only twice a minute how many values each key has encrypted, but a reload
    /// stores these numbers immediately.
    @Test(arguments: [true, false]) func theListCountsAllValuesJustAfterAReload(withAServer: Bool) async throws {
        try await self.fill(300)
        let daemon = withAServer ? try await Daemon(in: self.folder) : nil
        #expect(try await self.keys("rotate").code == 0)
        #expect(try await self.keys("reload").code == 0)
        let list = try await self.keys("list").output
        let row = /2  encrypts  in use since \S+, (\d+) values encrypted/
        let found = try #require(list.firstMatch(of: row), "\(list)")
        #expect(try #require(Int(found.output.1)) >= 300, "\(list)")
        #expect(await daemon?.terminate() ?? 0 == 0)
    }

    /// The actor of each audit entry is `local` and the name of the user who ran the command.
    @Test func theAuditNamesTheUserWhoChangedTheKeyring() async throws {
        let daemon = try await Daemon(in: self.folder)
        #expect(try await self.keys("rotate").output.hasPrefix("key 2 added to var/keyring; "))
        #expect(try await self.keys("reload").code == 0)
        #expect(try await self.keys("list").output.contains("1  decrypts  not in use\n"))
        #expect(try await self.keys("remove", "1").output == "key 1 removed from var/keyring\n")
        #expect(try await self.keys("remove", "1").code == 1, "it is gone")
        let audit = try await Daemon.run(["audit", "list"], in: self.folder)
        let entries = audit.output.split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false)
        }
        #expect(entries.map { $0[2] } == ["keys.remove", "keys.change", "keys.rotate"])
        #expect(entries.map { $0[3] } == ["key 1", "key 2", "key 2"])
        let name = "local \(LocalUser.name(of: geteuid()))"
        #expect(entries.allSatisfy { $0[5] == name }, "\(audit.output)")
        #expect(await daemon.terminate() == 0)
    }

    /// The systemd units make everything except the service's folder read-only, so the server may
    /// be unable to write its keyring.
    @Test(.enabled(if: geteuid() == 0))
    func theCommandChangesAKeyringThatTheServerCannotWrite() async throws {
        let settings = ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_KEYS": "keys"]
        func keys(_ arguments: String...) async throws -> ChildProcess.Ended {
            try await Daemon.run(["keys"] + arguments, in: self.folder, environment: settings)
        }
        try FileManager.default.createDirectory(atPath: self.folder.file("keys"), withIntermediateDirectories: false)
        _ = try await Daemon.run(["user", "add", "alice", "--no-password"], in: self.folder, environment: settings)
        chmod(self.folder.file("keys"), 0o500)
        let daemon = try ChildProcess(
            "/usr/bin/setpriv",
            ["--bounding-set=-dac_override", Daemon.executable, "serve"],
            in: self.folder.path,
            environment: settings
        )
        #expect(await daemon.errors(until: "serving").contains("serving"))
        for arguments in [["rotate"], ["remove", "1"]] {
            let refused = try await Daemon.run(["keys"] + arguments, in: self.folder, environment: settings)
            let reason = "/keys: Permission denied; let the server write there, or change the keyring with --direct"
            #expect(refused.code == 1 && refused.errors.contains(reason), "\(refused.errors)")
        }
        #expect(try await keys("rotate", "--direct").output.hasPrefix("key 2 added to keys/keyring; "))
        #expect(try await keys("reload").code == 0)
        #expect(try await keys("remove", "1", "--direct").output == "key 1 removed from keys/keyring\n")
        #expect(try KeyringFile(self.folder.file("keys/keyring")).load().numbers == [2])
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        chmod(self.folder.file("keys"), 0o700)
    }

    @Test func theCommandReencryptsByItselfWithoutAServer() async throws {
        try await self.fill(300)
        #expect(try await self.keys("rotate").code == 0)
        let steps = [("re-encrypting [", nil), ("key 2 encrypts; ", nil)] as [(String, String?)]
        let ended = try await Terminal.run(["keys", "reload"], in: self.folder, steps)
        #expect(
            ended.code == 0 && ended.output.contains("\r\u{1B}[Kkey 2 encrypts; "),
            "\(ended.output)\(ended.errors)"
        )
        #expect(try self.inUse == [2])
        try await self.check(300)
    }

    // MARK: Several servers

    @Test func missingKeysAreReportedAndNeededKeysAreNotRemoved() async throws {
        var configuration = self.configuration
        configuration.database = try PostgreSQLCluster.shared.newDatabaseText()
        configuration.place = Configuration.place(of:)
        let keyring = LocalKeyring(configuration: configuration)
        let store = try configuration.openStore()
        let name = try #require(Username("alice"))
        _ = try await store.addUser(name, role: .device, password: PasswordHash(phc: "none"), now: Date())
        // A new key encrypts only when all servers have it. A store that a command opens does not
        // count as a server, so the test opens a store as a server does.
        var options = StoreOptions()
        options.cluster.dayChain = DayKeyFile(configuration.dayKeys)
        options.cluster.mark = TimelineFile(configuration.timeline)
        let server = try configuration.storePlace.open(KeyringFile(configuration.keyring).load(), options)
        #expect(try keyring.rotate()["Key"]?.integer == 2)
        let listed = try keyring.list().elements("Keys")
        #expect(listed.map { $0.texts("LackedBy").count } == [1, 0])
        #expect(listed[0].texts("LackedBy")[0].hasSuffix(" \(getpid())"))
        let findings = try await Doctor(configuration: configuration).examine(online: false)
        let finding = try #require(findings.first { $0.subject == "keyring" })
        #expect(finding.grade == .warn && finding.text.contains("as it is missing on "), "\(finding.text)")
        let new = try KeyringFile(configuration.keyring).load()
        #expect(try await store.replaceKeyring(new, now: Date()))
        #expect(store.cluster?.keyWait?.number == 2)
        #expect(throws: CommandFailure.self) { try keyring.remove(1) }
        #expect(try await server.replaceKeyring(new, now: Date()))
        #expect(try await store.replaceKeyring(new, now: Date()))
        #expect(store.cluster?.keyWait == nil)
        #expect(try keyring.list().elements("Keys").map { $0.texts("LackedBy").count } == [0, 0])
        // Simulates that an old key was removed too early.
        let database = try BlockingConnection(DatabaseAddress(configuration.database))
        _ = try database.query("delete from data_key where number = 1")
        let error = #expect(throws: CommandFailure.self) { try keyring.remove(1) }
        #expect("\(try #require(error))".contains(" values are encrypted with key 1: run sealpost keys reload"))
        #expect(try await server.rewrap()?.unused == [1])
        #expect(try keyring.remove(1)["Key"]?.integer == 1)
        await server.close()
        await store.close()
    }

    @Test func twoServersUseTheNewKeyOnceBothHaveIt() async throws {
        let address = try PostgreSQLCluster.shared.newDatabaseText()
        let settings = ["SERVER_LISTEN": "127.0.0.1:0", "DATABASE": address]
        let folders = [self.folder, try TemporaryFolder(), try TemporaryFolder()]
        func run(at index: Int, _ arguments: String...) async throws -> ChildProcess.Ended {
            let environment = ["SEALPOST_DATABASE": address, "SEALPOST_SERVER_LISTEN": "127.0.0.1:0"]
            return try await Daemon.run(arguments, in: folders[index], environment: environment)
        }
        func copy(_ name: String, to index: Int) throws {
            let target = folders[index].file("var/\(name)")
            try? FileManager.default.removeItem(atPath: target)
            try FileManager.default.copyItem(atPath: folders[0].file("var/\(name)"), toPath: target)
        }
        let first = try await Daemon(in: folders[0], settings: settings)
        for index in 1...2 {
            try FileManager.default.createDirectory(
                atPath: folders[index].file("var"),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            for name in ["keyring", "signing-keys", "day-keys"] { try copy(name, to: index) }
        }
        let second = try await Daemon(in: folders[1], settings: settings)
        #expect(try await run(at: 0, "keys", "rotate").code == 0)
        let waiting = try await run(at: 0, "keys", "reload")
        let answer = "key 1 encrypts until all servers have key 2, which is missing on "
        #expect(waiting.code == 0 && waiting.output.hasPrefix(answer), "\(waiting.output) \(waiting.errors)")
        let listed = try await run(at: 0, "keys", "list").output
        #expect(listed.contains(/2  encrypts  not yet in use, as it is missing on \S+ \d+\n/), "\(listed)")
        #expect(try await run(at: 0, "doctor").output.contains("warn keyring: key 2 does not encrypt yet, as"))
        try copy("keyring", to: 1)
        let taken = try await run(at: 1, "keys", "reload")
        #expect(taken.code == 0 && taken.output.hasPrefix("key 2 encrypts; "), "\(taken.output) \(taken.errors)")
        let log = await first.process.errors(until: "data key in use")
        #expect(log.contains("data key not in use yet, because other servers lack it"), "\(log)")
        // When the database has only key 2, both servers have encrypted all values again.
        try await eventually { try PostgreSQLPlace(address)?.dataKeys().map(\.number) == [2] }
        let refused = try await run(at: 2, "serve")
        #expect(refused.code == 78 && refused.errors.contains("it lacks key 2, "), "\(refused.errors)")
        #expect(refused.errors.contains(" encrypts with it now: copy the keyring of that server"), "\(refused.errors)")
        #expect(await second.terminate() == 0)
        #expect(await first.terminate() == 0)
    }

    @Test func aRotationKeepsTheFileModeAndRevealsNoKey() async throws {
        try await self.fill(1)
        let file = self.configuration.keyring
        let files = try FileManager.default.contentsOfDirectory(atPath: self.folder.file("var"))
        let rotated = try await self.keys("rotate")
        let listed = try await self.keys("list")
        #expect(rotated.code == 0)
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        #expect(try KeyringFile(self.configuration.keyring).load().numbers == [2, 1])
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: self.folder.file("var"))) == Set(files))
        let secrets = try String(contentsOfFile: file, encoding: .utf8).matches(of: #/\d+ (\S{44})/#).map(\.output.1)
        #expect(secrets.count == 2)
        for secret in secrets { #expect(!(rotated.output + listed.output).contains(secret)) }
    }

    /// strace refuses the system call, as the call filter of the unit for systemd does.
    @Test func aRotationNeedsNoRightToChangeOwners() async throws {
        try await self.fill(1)
        let rotated = try await ChildProcess(
            "/usr/bin/strace",
            [
                "--follow-forks", "--output=/dev/null", "--trace=fchown", "--inject=fchown:error=EPERM",
                Daemon.executable, "keys", "rotate",
            ],
            in: self.folder.path
        ).end()
        #expect(rotated.code == 0, "\(rotated.errors)")
        #expect(try KeyringFile(self.configuration.keyring).load().numbers == [2, 1])
    }

    private func write(_ keyring: String) throws {
        try keyring.write(toFile: self.configuration.keyring, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: self.configuration.keyring)
    }
}
