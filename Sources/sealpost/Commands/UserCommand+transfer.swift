import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushServer

extension UserCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Write all users to a file, one JSON object a line.",
            discussion: """
                Name, Role, Apps, Tags, Disabled, RequiresEncryption, HasPassword and CreatedAt, as import reads them. The file, which must not be \
                there, gets the mode 0600.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Argument(help: "The file, or - for standard output.")
        var file: String

        @Flag(help: "Also write the password hashes, from which weak passwords can be guessed.")
        var withHashes = false

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let (file, target) = (self.file, "\(LocalPaths.users)?hashes=\(self.withHashes)")
                try await withAdministration(try self.options.load(), admitsMoved: true) { administration in
                    let output = try LineOutput(file)
                    defer { output.removePartial() }
                    let count = try await administration.lines("GET", target, into: 0) { count, line in
                        try output.write(line)
                        count += 1
                    }
                    try output.appear()
                    let result = JSONValue.object([.init("File", .string(file)), .init("Users", .number(count))])
                    if file != "-" { self.output.show(result, "\(count.counted("user")) written to \(file)") }
                }
            }
        }
    }

    struct PersonalData: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "data",
            abstract: "Print all stored data of a user, as a JSON document.",
            discussion: """
                The user's account, tokens, devices, notifications with their payloads, events and audit, for a person who asks \
                for them. The document names what it leaves out; the audit records the export.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let target = "\(LocalPaths.userData)/\(try self.user.segment)"
                try await self.user.asking(try self.options.load()) { administration in
                    try await administration.lines("GET", target, into: ()) { _, line in
                        say(String(decoding: line, as: UTF8.self))
                    }
                }
            }
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Create and change users from a file, one JSON object a line.",
            discussion: """
                Each line is a JSON object with Name, and perhaps Role, Apps, Tags, Disabled, RequiresEncryption and PasswordHash; what it does not \
                name stays as it is. Users that are not in the file stay, and nobody's password is replaced. Prints what \
                became of each line, and exits with 1 if one was refused; the others are done. It may be repeated.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Argument(help: "The file, or - for standard input.")
        var file: String

        @Flag(help: "Only print the changes, and make none.")
        var dryRun = false

        @Flag(help: "Accept PasswordHash, for users who have no password on this server.")
        var withHashes = false

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                let data = try self.read().withoutByteOrderMark
                let target = "\(LocalPaths.users)?dry=\(self.dryRun)&hashes=\(self.withHashes)"
                let output = self.output
                let counts = try await withAdministration(configuration) { administration in
                    var counts = Counts()
                    for part in data.parts(upTo: Self.longestPart) {
                        let body = Array(part)
                        counts = try await administration.lines("POST", target, body, into: counts) { counts, line in
                            let outcome = try JSONValue(reading: line)
                            counts.record(outcome)
                            let moved = outcome.moved(by: counts.linesBefore)
                            output.show(moved, Self.line(moved))
                        }
                        counts.linesBefore += body.count { $0 == UInt8(ascii: "\n") }
                    }
                    return counts
                }
                let words = ["added", "changed", "unchanged", "refused"].map { "\(counts[$0]) \($0)" }
                let start = self.dryRun ? "dry run, nothing was changed: would be " : ""
                output.show(counts.json, "\(start)\(words.joined(separator: ", "))")
                if counts["refused"] > 0 {
                    throw CommandFailure(
                        "\(counts["refused"].counted("line was", "lines were")) refused; correct the file and import it again",
                        .linesRefused
                    )
                }
            }
        }

        /// The largest request body that the server accepts.
        private static let longestPart = 16_777_216

        /// The number of lines with each outcome.
        private struct Counts {
            /// The number of lines in the parts of the file that were sent before.
            var linesBefore = 0
            private var counts: [String: Int] = [:]

            subscript(_ outcome: String) -> Int { self.counts[outcome] ?? 0 }

            var json: JSONValue {
                .object(
                    ["Added", "Changed", "Unchanged", "Refused"].map { .init($0, .number(self[$0.lowercased()])) }
                )
            }

            mutating func record(_ outcome: JSONValue) { self.counts[outcome.field("Outcome"), default: 0] += 1 }
        }

        private static func line(_ outcome: JSONValue) -> String {
            let (number, word) = (outcome["Line"]?.integer ?? 0, outcome.field("Outcome"))
            let text =
                switch word {
                case "refused": "refused: \(outcome.field("Reason"))"
                case "changed": "\(outcome.field("Name")) changed: \(outcome.texts("Changes").joined(separator: ", "))"
                default: "\(outcome.field("Name")) \(word)"
                }
            return "line \(number): \(text)"
        }

        private func read() throws -> Data {
            do {
                guard self.file != "-" else { return try FileHandle.standardInput.readToEnd() ?? Data() }
                return try FileHandle(forReadingFrom: URL(fileURLWithPath: self.file)).readToEnd() ?? Data()
            } catch {
                throw CommandFailure("\(self.file) cannot be read: \(error.cause)")
            }
        }
    }
}

extension JSONValue {
    /// The outcome of a line, with the line's number in the whole file in place of its number in
    /// the sent part.
    fileprivate func moved(by lines: Int) -> JSONValue {
        guard case .object(let members) = self, lines > 0 else { return self }
        return .object(
            members.map { member in
                guard member.name == "Line", let line = member.value.integer else { return member }
                return .init("Line", .number(line + lines))
            }
        )
    }
}

extension Data {
    /// The data in parts that consist of whole lines. A part is longer than `size` only if it
    /// consists of a single line.
    fileprivate func parts(upTo size: Int) -> [Data] {
        var (parts, rest) = ([Data](), self[...])
        while rest.count > size {
            let end = rest.prefix(size).lastIndex(of: 0x0A) ?? rest.firstIndex(of: 0x0A) ?? rest.endIndex - 1
            parts.append(rest[...end])
            rest = rest[(end + 1)...]
        }
        return rest.isEmpty ? parts : parts + [rest]
    }
}

/// Writes lines to standard output, or to a new file that only its owner may read. The file
/// appears complete or not at all; a killed process may leave a file with its process id and the
/// ending `.partial`. So two exports to one name write to different files.
private struct LineOutput: Sendable {
    /// `nil` for standard output.
    private let handle: FileHandle?
    private let file: String
    private let partial: String

    /// Throws `CommandFailure` if the file exists, or cannot be created.
    init(_ file: String) throws {
        self.file = file
        self.partial = "\(file).\(getpid()).partial"
        guard file != "-" else {
            self.handle = nil
            return
        }
        if let fault = RootFolder(of: file, isForNewFile: true).fault { throw CommandFailure("\(file): \(fault)") }
        guard access(file, F_OK) != 0 else { throw CommandFailure("\(file) cannot be created: the file exists") }
        unlink(self.partial)
        let descriptor = open(self.partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure("\(file) cannot be created: \(String(cString: strerror(errno)))")
        }
        self.handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Writes a line. Throws `CommandFailure` if that fails, for example because the disk is full.
    func write(_ line: ArraySlice<UInt8>) throws {
        guard let handle else { return say(String(decoding: line, as: UTF8.self)) }
        try self.reporting { try handle.write(contentsOf: Data(line + [UInt8(ascii: "\n")])) }
    }

    /// Gives the file its name. Throws `CommandFailure` if that fails.
    func appear() throws {
        guard let handle else { return }
        try self.reporting {
            try handle.synchronize()
            try handle.close()
        }
        guard rename(self.partial, self.file) == 0 else {
            throw CommandFailure("\(self.file) cannot be created: \(String(cString: strerror(errno)))")
        }
    }

    func removePartial() {
        if self.handle != nil { unlink(self.partial) }
    }

    private func reporting(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            throw CommandFailure("\(self.file) cannot be written: \(error.cause)")
        }
    }
}
