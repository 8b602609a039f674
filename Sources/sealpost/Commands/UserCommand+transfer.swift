import ArgumentParser
import Foundation
import PushCore
import PushServer
import PushStore

extension UserCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write all users to a file, a JSON object a line.",
            discussion: """
                Name, Role, Apps, Tags, Disabled, HasPassword and CreatedAt, as import reads them. The file, which must not be \
                there, gets the mode 0600.
                """
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "The file, or - for standard output.")
        var file: String

        @Flag(help: "Write the hashes of passwords, too, from which weak passwords can be guessed.")
        var withHashes = false

        func run() async throws {
            try await reportingErrors {
                try await withStore(try self.options.load(), admitsMoved: true) { store in
                    let output = try LineOutput(self.file)
                    let reader = try store.makeReader()
                    var (count, last): (Int, Username?) = (0, nil)
                    repeat {
                        let page = try await reader.users(after: last, limit: 500)
                        for user in page {
                            try output.write(UserLine.text(of: user, hash: try await self.hash(of: user, reader)))
                        }
                        (count, last) = (count + page.count, page.last?.name)
                    } while last != nil
                    try output.close()
                    if self.file != "-" { print("\(count) users written to \(self.file)") }
                }
            }
        }

        private func hash(of entry: UserEntry, _ reader: any AccountReader) async throws -> PasswordHash? {
            guard self.withHashes, let user = try await reader.user(named: entry.name) else { return nil }
            return try await reader.password(of: user)
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make and change users as the lines of a file say.",
            discussion: """
                Each line is a JSON object with Name, and perhaps Role, Apps, Tags, Disabled and PasswordHash; what it does not \
                name stays as it is. Users that are not in the file stay, and nobody's password is replaced. Prints what \
                became of each line, and exits with 1 if one was refused; the others are done. It may be repeated.
                """
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "The file, or - for standard input.")
        var file: String

        @Flag(help: "Only print what would be done.")
        var dryRun = false

        @Flag(help: "Take PasswordHash, for users who have no password here.")
        var withHashes = false

        func run() async throws {
            try await reportingErrors {
                let configuration = try self.options.load()
                let apps = Set(configuration.senders.keys.map(\.app)).union([.usual])
                let data = try self.read()
                var counts: [String: Int] = [:]
                try await withStore(configuration) { store in
                    var users = UserImport(
                        store: store,
                        reader: try store.makeReader(),
                        parameters: configuration.passwords,
                        takesHashes: self.withHashes,
                        isDry: self.dryRun
                    )
                    let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                    for (number, line) in lines.enumerated()
                    where !line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) {
                        let (word, text) = try await Self.apply(line, &users, apps: apps)
                        counts[word, default: 0] += 1
                        say("line \(number + 1): \(text)")
                    }
                }
                let words = ["added", "changed", "unchanged", "refused"].map { "\(counts[$0] ?? 0) \($0)" }
                say("\(self.dryRun ? "nothing was done: would be " : "")\(words.joined(separator: ", "))")
                if let refused = counts["refused"] { throw CommandFailure("\(refused) lines were refused") }
            }
        }

        private func read() throws -> Data {
            do {
                guard self.file != "-" else { return try FileHandle.standardInput.readToEnd() ?? Data() }
                return try Data(contentsOf: URL(fileURLWithPath: self.file))
            } catch {
                throw CommandFailure("\(self.file) cannot be read: \(error.localizedDescription)")
            }
        }

        /// The word to count the line by, and what is printed of it.
        private static func apply(
            _ bytes: Data,
            _ users: inout UserImport,
            apps: Set<AppName>
        ) async throws -> (String, String) {
            let line: UserLine
            do throws(UserLineError) {
                line = try UserLine(bytes, apps: apps)
            } catch {
                return ("refused", "refused: \(error)")
            }
            switch try await users.apply(line) {
            case .added: return ("added", "\(line.name) added")
            case .changed(let changes): return ("changed", "\(line.name) changed: \(changes.joined(separator: ", "))")
            case .unchanged: return ("unchanged", "\(line.name) unchanged")
            case .refused(let reason): return ("refused", "refused: \(reason)")
            }
        }
    }
}

/// Writes lines to standard output, or to a new file that only its owner may read.
private struct LineOutput {
    private let handle: FileHandle
    private let file: String

    /// Throws `CommandFailure` if the file is there, or cannot be made.
    init(_ file: String) throws {
        self.file = file
        guard file != "-" else {
            self.handle = .standardOutput
            return
        }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure("\(file) cannot be made: \(String(cString: strerror(errno)))")
        }
        self.handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Throws `CommandFailure`, such as when the disk is full.
    func write(_ line: [UInt8]) throws {
        try self.reporting { try self.handle.write(contentsOf: Data(line + [UInt8(ascii: "\n")])) }
    }

    func close() throws {
        guard self.file != "-" else { return }
        try self.reporting {
            try self.handle.synchronize()
            try self.handle.close()
        }
    }

    private func reporting(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            throw CommandFailure("\(self.file) cannot be written: \(error.localizedDescription)")
        }
    }
}
