import Foundation
import PushTesting
import Reactor
import Testing

@testable import PushApplication
@testable import sealpost

/// The file of the admin socket: who may own it, and what the daemon does if the file exists
/// already.
@Suite(.timeLimit(.minutes(5))) struct AdminSocketTests {
    private let folder: TemporaryFolder
    private let socket: AdminSocket

    init() throws {
        self.folder = try TemporaryFolder()
        self.socket = AdminSocket(path: self.folder.file("admin/sealpost.sock"))
    }

    private func mode(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? -1
    }

    @Test func onlyTheOwnerMayEnterTheFolderAndConnect() throws {
        let open = try self.socket.listen()
        #expect(try self.mode(self.folder.file("admin")) == 0o700)
        #expect(try self.mode(self.socket.path) == 0o600)
        let connection = try #require(try self.socket.connect())
        close(connection)
        withExtendedLifetime(open) {}
    }

    @Test func connectingWithoutADaemonGivesNoConnection() throws {
        #expect(try self.socket.connect() == nil)
        _ = try self.socket.listen()
        // The listener is closed, as after the kill of a daemon, but the socket's file still
        // exists.
        #expect(FileManager.default.fileExists(atPath: self.socket.path))
        #expect(try self.socket.connect() == nil)
    }

    @Test func aSocketLeftByADeadDaemonIsReplaced() throws {
        for _ in 0..<3 {
            let open = try self.socket.listen()
            let connection = try #require(try self.socket.connect())
            close(connection)
            withExtendedLifetime(open) {}
        }
    }

    @Test func aSecondDaemonCannotTakeTheSocket() throws {
        let first = try self.socket.listen()
        let error = #expect(throws: AdminSocketError.self) { _ = try self.socket.listen() }
        #expect(error?.description.contains("another server listens") == true)
        let connection = try #require(try self.socket.connect())
        close(connection)
        withExtendedLifetime(first) {}
    }

    /// If several daemons start at the same moment with the same abandoned socket file, exactly
    /// one of them gets the socket and keeps it.
    @Test func exactlyOneOfManyStartingDaemonsGetsTheSocket() async throws {
        _ = try self.socket.listen()
        let socket = self.socket
        let open = await withTaskGroup(of: (Listener, AdminSocketLock)?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    // Most of the twenty attempts are expected to fail.
                    guard let open = try? socket.listen() else { return nil }
                    return (open.listener, open.lock)
                }
            }
            return await group.reduce(into: []) { if let open = $1 { $0.append(open) } }
        }
        #expect(open.count == 1)
        let connection = try #require(try self.socket.connect())
        close(connection)
    }

    @Test func aRegularFileIsRefusedAndKept() throws {
        try FileManager.default.createDirectory(
            atPath: self.folder.file("admin"),
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        try "mine".write(toFile: self.socket.path, atomically: true, encoding: .utf8)
        let error = #expect(throws: AdminSocketError.self) { _ = try self.socket.listen() }
        #expect(error?.description.contains("is not a socket") == true)
        #expect(try String(contentsOfFile: self.socket.path, encoding: .utf8) == "mine")
    }

    @Test(arguments: [0o755, 0o710, 0o701, 0o770])
    func aFolderOpenToOtherUsersIsRefused(mode: Int) throws {
        let open = try self.socket.listen()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.folder.file("admin"))
        // Client and server refuse a folder that other users may write to. In such a folder,
        // another user could listen and receive passwords.
        let attempts: [() throws -> Void] = [
            { _ = try self.socket.connect() }, { _ = try self.socket.listen() },
        ]
        for attempt in attempts {
            let error = #expect(throws: AdminSocketError.self) { try attempt() }
            #expect(error?.description.contains("set its mode to 0700") == true)
        }
        withExtendedLifetime(open) {}
    }

    /// For a volume with `fsGroup`, Kubernetes makes the folder writable for a group at each
    /// mount. The daemon removes this right again.
    @Test func theUsualFolderIsClosedAgainAtTheStart() throws {
        var socket = self.socket
        socket.isUsual = true
        let folder = self.folder.file("admin")
        _ = try socket.listen()
        try FileManager.default.setAttributes([.posixPermissions: 0o2770], ofItemAtPath: folder)
        let open = try socket.listen()
        #expect(try self.mode(folder) == 0o700)
        let connection = try #require(try socket.connect())
        close(connection)
        withExtendedLifetime(open) {}
    }

    @Test func aLinkInPlaceOfTheUsualFolderKeepsItsTargetsMode() throws {
        let target = self.folder.file("elsewhere")
        try FileManager.default.createDirectory(
            atPath: target,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
        try FileManager.default.createSymbolicLink(atPath: self.folder.file("admin"), withDestinationPath: target)
        var socket = self.socket
        socket.isUsual = true
        #expect(throws: AdminSocketError.self) { _ = try socket.listen() }
        #expect(try self.mode(target) == 0o755)
    }

    @Test(arguments: [
        ("{}", "var/admin/sealpost.sock"), ("database: /srv/push/a.db", "/srv/push/admin/sealpost.sock"),
        ("database: a.db", "admin/sealpost.sock"),
        ("{database: 'postgres:///p?host=/run/pg', keys: /srv/keys}", "/srv/keys/admin/sealpost.sock"),
        ("admin: {socket: /run/sealpost/admin.sock}", "/run/sealpost/admin.sock"), ("admin: {socket: null}", nil),
    ])
    func theSocketIsNextToTheDatabaseUnlessConfigured(yaml: String, path: String?) throws {
        let file = self.folder.file("sealpost.yaml")
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        let configuration = try Configuration.load(file: file, environment: [:])
        #expect(configuration.adminSocket?.path == path)
        let other = try Configuration.load(file: file, environment: ["SEALPOST_ADMIN_SOCKET": "null"])
        #expect(other.adminSocket == nil)
    }

    /// The owner and mode of each folder of a path, from the root on, and the owner of the files
    /// in the last folder.
    struct Folders: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let modes: [(owner: uid_t, mode: mode_t)]
        var owner: uid_t = 0
        let fault: String?
    }

    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [
            Folders(testDescription: "root's", modes: [(0, 0o755), (0, 0o700)], fault: nil),
            Folders(testDescription: "another's", modes: [(0, 0o755), (65_534, 0o700)], fault: "run the command as"),
            Folders(testDescription: "the server's", modes: [(0, 0o755), (65_534, 0o700)], owner: 65_534, fault: nil),
            Folders(
                testDescription: "below another's",
                modes: [(65_534, 0o755), (0, 0o700)],
                fault: "run the command as"
            ),
            Folders(
                testDescription: "below an open one",
                modes: [(0, 0o777), (0, 0o700)],
                fault: "other users may write"
            ),
            Folders(testDescription: "sticky", modes: [(0, 0o1777), (0, 0o700)], fault: nil),
            Folders(
                testDescription: "sticky itself",
                modes: [(0, 0o755), (0, 0o1777)],
                fault: "other users may write"
            ),
            Folders(
                testDescription: "another's in a sticky one",
                modes: [(0, 0o1777), (65_534, 0o700)],
                owner: 65_534,
                fault: "other users may write"
            ),
        ]
    )
    func rootTrustsFoldersThatNobodyElseWritesTo(_ folders: Folders) throws {
        var path = self.folder.path
        for (number, folder) in folders.modes.enumerated() {
            path += "/\(number)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let group: gid_t = folder.owner == 0 ? 0 : 65_534
            try #require(chown(path, folder.owner, group) == 0 && chmod(path, folder.mode) == 0)
        }
        let fault = RootFolder(path, owner: folders.owner).fault
        if let fault, let expected = folders.fault { #expect(fault.contains(expected)) }
        #expect((fault == nil) == (folders.fault == nil), "\(fault ?? "trusted")")
    }

    /// Another user owns the folder of the socket, and so may listen there. Root's commands must
    /// not send their passwords to this user.
    @Test(.enabled(if: geteuid() == 0)) func rootSendsNothingToAnotherUsersListener() throws {
        let open = try self.socket.listen()
        let folder = self.folder.file("admin")
        try #require(chown(folder, 65_534, 65_534) == 0)
        let error = #expect(throws: AdminSocketError.self) { _ = try self.socket.connect() }
        #expect(error?.description.contains("neither to you nor to the server's user") == true)
        // The database belongs to the other user. That user therefore runs the server, and root's
        // commands may connect.
        let file = self.folder.file("sealpost.db")
        try Data().write(to: URL(fileURLWithPath: file))
        try #require(chown(file, 65_534, 65_534) == 0)
        let connection = try #require(try AdminSocket(path: self.socket.path, serverFile: file).connect())
        close(connection)
        withExtendedLifetime(open) {}
    }
}
