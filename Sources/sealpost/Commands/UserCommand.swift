import ArgumentParser
import Foundation
import PushCore
import PushStore

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Manage users.",
        subcommands: [Add.self]
    )

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a user.",
            discussion: """
                The password is asked for, or read from standard input; it is never an argument, which others on the \
                machine could see. While the server runs, POST /api/users does the same.
                """
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "1 to 100 letters, digits, -, _, @, # or .")
        var name: String

        @Option(help: "\(Role.allCases.map(\.rawValue).joined(separator: ", "))")
        var role = Role.device.rawValue

        @Flag(help: "Read the password from the first line of standard input.")
        var passwordStdin = false

        func run() async throws {
            guard let name = Username(self.name) else {
                throw ValidationError("\"\(self.name)\" is not 1 to 100 letters, digits, -, _, @, # or .")
            }
            guard let role = Role(rawValue: self.role) else {
                throw ValidationError("there is no role \"\(self.role)\"")
            }
            try await reportingErrors {
                let configuration = try self.options.load()
                try await self.add(name, role, try self.hash(for: name, configuration), configuration)
            }
        }

        private func hash(for name: Username, _ configuration: Configuration) throws -> PasswordHash {
            do throws(PasswordError) {
                let password = try self.readPassword()
                return try PasswordHash(of: password, chosenFor: name, parameters: configuration.passwords)
            } catch {
                throw ValidationError("\(error)")
            }
        }

        private func add(
            _ name: Username,
            _ role: Role,
            _ hash: PasswordHash,
            _ configuration: Configuration
        ) async throws {
            // A keyring made now is the one that the server will seal with.
            let keyring = try KeyringFile.load(configuration.keyring, database: configuration.database)
            let store = try Store(path: configuration.database, keyring: keyring)
            let record = AuditRecord(.addUser, of: name.description, detail: role.rawValue)
            guard try await store.addUser(name, role: role, password: hash, by: record, now: Date()) else {
                FileHandle.standardError.write(Data("sealpost: there is a user \(name)\n".utf8))
                throw ExitCode.failure
            }
            await store.close()
            print("\(name) may sign in as \(role.rawValue)")
        }

        private func readPassword() throws(PasswordError) -> String {
            guard !self.passwordStdin else { return Swift.readLine() ?? "" }
            // readpassphrase(3) is not in glibc; getpass(3) keeps the echo off and is enough for 256 bytes.
            guard let typed = getpass("Password: ") else { throw .length }
            return String(cString: typed)
        }
    }
}
