import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushCore

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Manage users.",
        discussion: localDiscussion,
        subcommands: [
            Add.self, List.self, Import.self, Export.self, PersonalData.self, ChangeRole.self, ChangePassword.self,
            Code.self, Tags.self,
            Disable.self, Enable.self, Encryption.self, Remove.self,
        ]
    )

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Create a user.",
            discussion: PasswordInput.discussion
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "\(Username.rule)")
        var name: String

        @Option(help: "\(Role.allCases.map(\.rawValue).joined(separator: ", "))")
        var role = Role.device

        @Option(name: .customLong("app"), help: "An app that the user belongs to; may be repeated. Default: default")
        var apps: [String] = []

        @OptionGroup var password: PasswordInput
        @OptionGroup var output: OutputOptions

        @Flag(
            help:
                "Create the user without a password: devices sign in with a one-time code, or an issuer signs the user in."
        )
        var noPassword = false

        @Flag(help: "Require end-to-end encryption for the user, as `user encryption NAME required` does.")
        var requireEncryption = false

        func validate() throws {
            if self.noPassword, self.password.passwordStdin {
                throw ValidationError("--no-password and --password-stdin cannot be combined")
            }
        }

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                guard Username.ofNewUser(self.name) != nil else {
                    throw ValidationError("\"\(self.name)\" is not \(Username.rule)")
                }
                let configuration = try self.options.load()
                if !self.noPassword, !self.password.passwordStdin { try await self.refuseExisting(configuration) }
                let user = JSONValue.object(try self.members)
                try await withAdministration(configuration, creates: true) { administration in
                    let added = try await administration.ask("POST", Paths.users, user) ?? .null
                    let rights =
                        "the role \(self.role.rawValue)"
                        + (self.requireEncryption ? ", gets end-to-end payloads only" : "")
                    self.output.show(added, "user \(self.name) created with \(rights)")
                }
            }
        }

        /// Throws a `Problem` if the user exists: nobody should type a password in vain.
        private func refuseExisting(_ configuration: Configuration) async throws {
            let path = Paths.user(Administration.encoded(self.name))
            do {
                try await withAdministration(configuration) { _ = try await $0.ask("GET", path) }
            } catch let problem as Problem where problem.code == .notFound {
                return
            } catch is CommandFailure {
                // There is no database yet. The request that adds the user reports other failures.
                return
            }
            throw Problem(.conflict, "user \(self.name) already exists")
        }

        /// The members of the new user. Reads the password, unless the user gets none.
        private var members: [JSONValue.Member] {
            get throws {
                var members: [JSONValue.Member] = [
                    .init("Name", .string(self.name)), .init("Role", .string(self.role.rawValue)),
                ]
                if self.noPassword {
                    members.append(.init("WithoutPassword", .bool(true)))
                } else {
                    members.append(.init("Password", .string(try self.password.read())))
                }
                if self.requireEncryption { members.append(.init("RequiresEncryption", .bool(true))) }
                if !self.apps.isEmpty { members.append(.init("Apps", .array(self.apps.map { .string($0) }))) }
                return members
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the users with role and creation date.",
            discussion: "Sorted by name, unless there are more than \(Self.maximumSorted) users."
        )

        /// The largest number of users that the command sorts. The server cannot sort by name,
        /// as the database has the names encrypted.
        private static let maximumSorted = 10_000

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                try await withAdministration(try self.options.load()) { administration in
                    var list = self.output.list(["NAME", "ROLE", "SINCE", "APPS", "PASSWORD", "STATE"])
                    func show(_ users: [JSONValue]) {
                        for user in users { list.add(user, cells: Self.cells(user), line: Self.line(user)) }
                    }
                    var (held, isLong): ([JSONValue], Bool) = ([], false)
                    try await administration.list(Paths.users, "Users") { user in
                        held.append(user)
                        isLong = isLong || held.count > Self.maximumSorted
                        if isLong {
                            show(held)
                            held = []
                        }
                        return true
                    }
                    show(held.sorted { $0.field("Name") < $1.field("Name") })
                    list.end()
                }
            }
        }

        private static func cells(_ user: JSONValue) -> [String] {
            [
                user.field("Name"), user.field("Role"), "\(user.field("CreatedAt").prefix(10))",
                user.texts("Apps").joined(separator: " "), user["HasPassword"] == .bool(false) ? "none" : "yes",
                (user["Disabled"] == .bool(true) ? "disabled" : "enabled")
                    + (user["RequiresEncryption"] == .bool(true) ? ", encryption required" : ""),
            ]
        }

        private static func line(_ user: JSONValue) -> String {
            let apps = user.texts("Apps")
            let fields: [String?] = [
                user.field("Name"), user.field("Role"), "since \(user.field("CreatedAt").prefix(10))",
                apps == [AppName.usual.description] ? nil : "apps \(apps.joined(separator: " "))",
                user["HasPassword"] == .bool(false) ? "no password" : nil,
                user["Disabled"] == .bool(true) ? "disabled" : nil,
                user["RequiresEncryption"] == .bool(true) ? "encryption required" : nil,
            ]
            return fields.compactMap(\.self).joined(separator: "  ")
        }
    }
}

/// Options that say where the command reads a new password.
struct PasswordInput: ParsableArguments {
    static let discussion = """
        The command asks for the password, or reads it from standard input. It is never an argument, which others on the machine \
        could see.
        """

    @Flag(help: "Read the password from the first line of standard input.")
    var passwordStdin = false

    /// Reads the password. The server decides whether it is acceptable.
    func read() throws -> String {
        guard !self.passwordStdin else { return Swift.readLine() ?? "" }
        guard let typed = PasswordPrompt.ask("Password: ") else { throw ValidationError("\(PasswordError.length)") }
        return typed
    }
}
