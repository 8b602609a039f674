import ArgumentParser
import HTTPSignatures
import PushServer

struct SigningKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signing-keys",
        abstract: "Manage the keys that answers are signed with.",
        discussion: """
            No private key is ever printed. All of this may be done while the server runs: it changes the file only, which \
            the server reads again at SIGHUP.
            """,
        subcommands: [List.self, Rotate.self, Remove.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys as apps pin them: number, task, keyid and public key, the one that signs first."
        )

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                let keys = try SigningKeyFile.loadExisting(self.options.load().signingKeys).keys
                for (index, entry) in keys.enumerated() {
                    let (task, key) = (index == 0 ? "signs" : "if asked for", entry.key.publicKey)
                    print("\(entry.number)  \(task)  \(key.id)  \(key.base64URL)")
                }
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new key that signs from the next SIGHUP or start on.",
            discussion: "Apps that ask for an older key by its keyid go on getting that one until it is removed."
        )

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                let path = try self.options.load().signingKeys
                let number = try SigningKeyFile.rotate(path)
                print("key \(number) is the first of \(path); a server that runs takes it at SIGHUP")
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a key out that is not the first.",
            discussion: "Apps that pin nothing else refuse every answer from the next SIGHUP or start on."
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "Its number.")
        var number: UInt32

        func run() async throws {
            try await reportingErrors {
                let path = try self.options.load().signingKeys
                try SigningKeyFile.remove(self.number, from: path)
                print("key \(self.number) is no longer in \(path)")
            }
        }
    }
}
