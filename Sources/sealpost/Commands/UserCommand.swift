import ArgumentParser
import Foundation
import PushCore
import PushStore

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Manage users.",
        discussion: "A running server locks the database: use /api/users instead.",
        subcommands: [
            Add.self, List.self, Import.self, Export.self, ChangeRole.self, ChangePassword.self, Disable.self,
            Enable.self, Remove.self,
        ]
    )

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a user.",
            discussion: PasswordInput.discussion
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "1 to 100 letters, digits, -, _, @, # or .")
        var name: String

        @Option(help: "\(Role.allCases.map(\.rawValue).joined(separator: ", "))")
        var role = Role.device

        @Option(name: .customLong("app"), help: "An app that the user belongs to; may be repeated. Default: default")
        var apps: [String] = []

        @OptionGroup var password: PasswordInput

        @Flag(help: "The user gets no password: devices enrol with a code, or an issuer signs the user in.")
        var noPassword = false

        func validate() throws {
            if self.noPassword, self.password.passwordStdin {
                throw ValidationError("--no-password and --password-stdin exclude each other")
            }
        }

        func run() async throws {
            guard let name = Username(self.name) else {
                throw ValidationError("\"\(self.name)\" is not 1 to 100 letters, digits, -, _, @, # or .")
            }
            try await reportingErrors {
                let configuration = try self.options.load()
                let apps = try self.apps.map(configuration.app(named:))
                let hash =
                    try self.noPassword ? .none(configuration.passwords) : self.password.hash(for: name, configuration)
                try await withStore(configuration) { store in
                    let isAdded = try await store.addUser(
                        name,
                        role: self.role,
                        apps: apps.isEmpty ? [.usual] : Set(apps),
                        password: hash,
                        by: AuditRecord(.addUser, of: name.description, detail: self.role.rawValue),
                        now: Date()
                    )
                    guard isAdded else { throw CommandFailure("user \(name) already exists") }
                }
                print("user \(name) created with the role \(self.role.rawValue)")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the users with role and creation date.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                try await withStore(try self.options.load()) { store in
                    let reader = try store.makeReader()
                    var last: Username?
                    repeat {
                        let page = try await reader.users(after: last, limit: 500)
                        for user in page { print(Self.line(user)) }
                        last = page.last?.name
                    } while last != nil
                }
            }
        }

        private static func line(_ user: UserEntry) -> String {
            let day = user.createdAt.formatted(.iso8601.year().month().day())
            let apps =
                user.apps == [.usual] ? "" : "  apps \(user.apps.sorted().map(\.description).joined(separator: " "))"
            let notes = (user.hasPassword ? "" : "  no password") + (user.isDisabled ? "  disabled" : "")
            return "\(user.name)  \(user.role.rawValue)  since \(day)\(apps)\(notes)"
        }
    }
}

/// The source of a new password.
struct PasswordInput: ParsableArguments {
    static let discussion = """
        The password is asked for, or read from standard input; it is never an argument, which others on the machine \
        could see.
        """

    @Flag(help: "Read the password from the first line of standard input.")
    var passwordStdin = false

    /// Reads the password and hashes it with the configured parameters. Throws `ValidationError` for an unacceptable
    /// one.
    func hash(for name: Username, _ configuration: Configuration) throws -> PasswordHash {
        do throws(PasswordError) {
            return try PasswordHash(of: try self.read(), chosenFor: name, parameters: configuration.passwords)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private func read() throws(PasswordError) -> String {
        guard !self.passwordStdin else { return Swift.readLine() ?? "" }
        // readpassphrase(3) is not in glibc; getpass(3) turns the echo off and is enough for 256 bytes.
        guard let typed = getpass("Password: ") else { throw .length }
        return String(cString: typed)
    }
}
