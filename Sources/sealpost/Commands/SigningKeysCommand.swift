import ArgumentParser
import HTTPSignatures
import PushAPI
import PushApplication
import PushServer

struct SigningKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signing-keys",
        abstract: "Manage the keys that answers are signed with.",
        discussion: """
            No private key is ever printed. These commands change only the file of the keys, also beside a running server, \
            which reads it again at SIGHUP.
            """,
        subcommands: [List.self, Rotate.self, Remove.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the keys as apps pin them: number, state, keyid and public key. The first one signs."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                try configuration.refuseForeignFiles()
                let keys = try SigningKeyFile(configuration.signingKeys).load().keys
                var list = self.output.list(["KEY", "TASK", "KEYID", "PUBLIC KEY"])
                for (index, entry) in keys.enumerated() {
                    let (task, key) = (index == 0 ? "signs" : "on request", entry.key.publicKey)
                    let cells = ["\(entry.number)", task, key.id, key.base64URL]
                    let json = JSONValue.object([
                        .init("Key", .number(entry.number)), .init("Task", .string(task)),
                        .init("KeyId", .string(key.id)), .init("PublicKey", .string(key.base64URL)),
                    ])
                    list.add(json, cells: cells, line: cells.joined(separator: "  "))
                }
                list.end()
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Create a signing key; it signs after the next SIGHUP or start.",
            discussion: """
                Apps that request an older key by its keyid get signatures of that key until you remove it. If the file is \
                lost, the command creates it with one key.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                try configuration.refuseForeignFiles()
                let path = configuration.signingKeys
                let number = try SigningKeyFile(path).rotate(beside: configuration.storePlace)
                self.output.show(
                    .object([.init("Key", .number(number)), .init("File", .string(path))]),
                    "key \(number) added to \(path); send SIGHUP to a running server"
                )
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove a key other than the first.",
            discussion: "Apps that pin only this key refuse every answer after the next SIGHUP or start."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Argument(help: "The number of the key.")
        var number: UInt32

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                try configuration.refuseForeignFiles()
                let path = configuration.signingKeys
                try SigningKeyFile(path).remove(self.number)
                self.output.show(
                    .object([.init("Key", .number(self.number)), .init("File", .string(path))]),
                    "key \(self.number) removed from \(path)"
                )
            }
        }
    }
}
