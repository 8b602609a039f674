import ArgumentParser
import HTTPSignatures
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
            abstract: "List the keys as apps pin them: number, state, keyid and public key. The first one signs."
        )

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                let keys = try SigningKeyFile(self.options.load().signingKeys).load().keys
                for (index, entry) in keys.enumerated() {
                    let (task, key) = (index == 0 ? "signs" : "if asked for", entry.key.publicKey)
                    print("\(entry.number)  \(task)  \(key.id)  \(key.base64URL)")
                }
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a signing key; it signs after the next SIGHUP or start.",
            discussion: "Apps that request an older key by its keyid get signatures of that key until it is removed."
        )

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                let path = try self.options.load().signingKeys
                let number = try SigningKeyFile(path).rotate()
                print("key \(number) added to \(path); send SIGHUP to a running server")
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a key other than the first.",
            discussion: "Apps that pin only this key refuse every answer after the next SIGHUP or start."
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "The number of the key.")
        var number: UInt32

        func run() async throws {
            try await reportingErrors {
                let path = try self.options.load().signingKeys
                try SigningKeyFile(path).remove(self.number)
                print("key \(self.number) removed from \(path)")
            }
        }
    }
}
