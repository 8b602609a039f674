import ArgumentParser
import Foundation
import PushAPI
import PushCore
import PushStore

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Manage the data keys.",
        discussion: """
            No key is ever printed. `rotate` and `remove` change only the keyring file, also beside a running server, which \
            reads it again at `reload` or SIGHUP.
            """,
        subcommands: [List.self, Rotate.self, Reload.self, Remove.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the data keys; the first one encrypts. With PostgreSQL, the day keys, too.",
            discussion: "Exits with 78 if a key in use, or the file of day keys, is missing or does not match."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json) {
                let configuration = try self.options.load()
                let keyring = try KeyringFile(configuration.keyring).load()
                let used = try configuration.storePlace.dataKeys()
                var list = self.output.list(["KEY", "TASK", "USE"])
                for number in keyring.numbers {
                    let entry = used.first { $0.number == number }
                    let task = number == keyring.sealing ? "seals" : "opens"
                    let cells = ["\(number)", task, entry?.summary ?? "not in use"]
                    list.add(Self.json(number, task, entry), cells: cells, line: cells.joined(separator: "  "))
                }
                list.end()
                let days = try configuration.storePlace.dayKeys()
                if let days { try self.printDayKeys(days, of: configuration) }
                try used.check(keyring)
                try days?.check(DayKeyFile(configuration.dayKeys).load(), at: configuration.dayKeys)
            }
        }

        /// The file of this machine, and how far each server has destroyed.
        private func printDayKeys(_ report: DayKeyReport, of configuration: Configuration) throws {
            let task = report.isSealing ? "seal payloads" : "seal nothing while a server of an older version runs"
            if !self.output.json { say("day keys  \(task)") }
            let file = DayKeyFile(configuration.dayKeys)
            let day = try file.load()?.day
            let first = day.map { "from \($0) on" } ?? "missing"
            self.output.show(
                Self.json(file.place, day.map { "\($0)" }, at: nil),
                "\(file.place)  \(first)  this machine's file"
            )
            for holder in report.holders where holder.place != file.place {
                let at = holder.at.ISO8601Format()
                self.output.show(
                    Self.json(holder.place, "\(holder.day)", at: at),
                    "\(holder.place)  from \(holder.day) on  told at \(at)"
                )
            }
        }

        private static func json(_ number: UInt32, _ task: String, _ entry: DataKeyEntry?) -> JSONValue {
            .object([
                .init("Key", .number(number)), .init("Task", .string(task)),
                .init("UsedSince", entry.map { .string($0.usedSince.rfc3339) } ?? .null),
                .init("Seals", .number(entry?.seals ?? 0)),
            ])
        }

        /// A holder of day keys: the place, the first day that it can still open, and when it told so.
        private static func json(_ place: String, _ day: String?, at: String?) -> JSONValue {
            .object([
                .init("DayKeys", .string(place)), .init("From", day.map { .string($0) } ?? .null),
                .init("ToldAt", at.map { .string($0) } ?? .null),
            ])
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a data key; it encrypts after the next `reload`, SIGHUP or start.",
            discussion: "Back up the keyring before: what the new key encrypts can be decrypted with no other."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json) {
                let configuration = try self.options.load()
                let number = try KeyringFile(configuration.keyring).rotate()
                self.output.show(
                    .object([.init("Key", .number(number)), .init("File", .string(configuration.keyring))]),
                    "key \(number) added to \(configuration.keyring); back it up, then run sealpost keys reload"
                )
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an unused key from the keyring.",
            discussion: "Backups of the database that are encrypted with it become unreadable."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Argument(help: "The number of the key.")
        var number: UInt32

        func run() async throws {
            try await reportingErrors(json: self.output.json) {
                let configuration = try self.options.load()
                if let entry = try configuration.storePlace.dataKeys().first(where: {
                    $0.number == number
                }) {
                    throw CommandFailure(
                        "key \(self.number) is \(entry.summary): rotate first, and have all sealed anew"
                    )
                }
                try KeyringFile(configuration.keyring).remove(self.number)
                self.output.show(
                    .object([.init("Key", .number(self.number)), .init("File", .string(configuration.keyring))]),
                    "key \(self.number) removed from \(configuration.keyring)"
                )
            }
        }
    }
}

extension DataKeyEntry {
    /// A description without the key itself.
    fileprivate var summary: String {
        "in use since \(self.usedSince.formatted(.iso8601.year().month().day())), \(self.seals) values sealed"
    }
}
