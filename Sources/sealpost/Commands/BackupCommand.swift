import ArgumentParser
import Foundation
import Glibc
import PushAPI
import PushApplication
import PushSQLite
import PushServer
import PushStore
import Synchronization

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up the database, also while the server is running.",
        discussion: """
            \(localDiscussion) Then the server writes the copy, as its own user, where it may write, and its audit notes who had it \
            written. The copy is of one moment, verified, and encrypted as the database is: `restore` needs the keyring of that day. \
            An interrupted copy leaves nothing behind.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    @Argument(help: "The backup file to create.")
    var file: String

    @Flag(help: "Copy in this process instead of asking the server; this process must be able to read the database.")
    var direct = false

    @Flag(help: "Back up a database without users, too: usually such a database is not the one that is meant.")
    var force = false

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            let configuration = try self.options.load()
            let database = try configuration.databaseFile(insteadUse: "pg_dump or pg_basebackup")
            if !self.direct, let daemon = try await Administration(of: configuration) {
                if !self.force {
                    let users = try await daemon.ask("GET", "\(Paths.users)?limit=1")?.elements("Users") ?? []
                    try self.refuseEmpty(database, hasUsers: !users.isEmpty)
                }
                try await self.backUp(by: daemon)
            } else {
                try configuration.refuseForeignFiles()
                try configuration.refuseMissingStore()
                if let fault = RootFolder(of: self.file, isForNewFile: true).fault {
                    throw CommandFailure("\(self.file): \(fault)")
                }
                if !self.force { try self.refuseEmpty(database, hasUsers: database.hasUsers()) }
                let keyring = try KeyringFile(configuration.keyring).load()
                try await CopyWatch().run { try database.backUp(to: self.file, keyring: keyring, begins: $0) }
            }
            self.output.show(.object([.init("File", .string(self.file))]), "backup written to \(self.file)")
        }
    }

    /// Refuses to copy a database without users: the command was probably run with the
    /// configuration of another server.
    private func refuseEmpty(_ database: SQLiteDatabase, hasUsers: Bool) throws(CommandFailure) {
        guard !hasUsers else { return }
        throw CommandFailure("the database \(database) has no users; name its configuration, or add --force")
    }

    private func backUp(by daemon: Administration) async throws {
        let path = URL(fileURLWithPath: self.file).path
        let bar = StepBar()
        defer { bar.end() }
        let target = "\(LocalPaths.backup)?file=\(Administration.encoded(path))"
        let result = try await daemon.result("POST", target) { bar.record($0) }
        var status = stat()
        guard let inode = result["Inode"]?.integer, lstat(path, &status) == 0, Int(exactly: status.st_ino) == inode
        else {
            throw CommandFailure(
                """
                the server has written \(path), but in a file system of its own (PrivateTmp, a container), where this command does not \
                see it: choose another folder, or copy with --direct
                """
            )
        }
    }
}

/// The progress bar of work whose steps a server reports.
private final class StepBar: Sendable {
    private let bar = ProgressBar()
    // The current step. A lock protects it, since lines arrive on another thread.
    private let step = Mutex<String?>(nil)

    /// Draws the progress that a line of the answer reports.
    func record(_ line: JSONValue) {
        guard let step = line["Step"]?.text, let done = line["Done"]?.integer, let total = line["Total"]?.integer else {
            return
        }
        let isNext = self.step.withLock { last in
            defer { last = step }
            return last != step
        }
        if isNext { self.bar.begin(step, total: total, unit: .bytes) }
        self.bar.update(done)
    }

    /// Removes the bar.
    func end() {
        self.bar.end()
    }
}
