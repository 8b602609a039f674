import ArgumentParser
import Foundation
import PushCore
import PushStore

extension UserCommand {
    struct ChangeRole: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "role", abstract: "Change a user's role.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser

        @Argument(help: "\(Role.allCases.map(\.rawValue).joined(separator: ", "))")
        var role: Role

        func run() async throws {
            try await self.user.change(self.options, "is \(self.role.rawValue)") { store, name in
                let record = AuditRecord(.changeUser, of: name.description, detail: "role \(self.role.rawValue)")
                return try await store.changeUser(name, role: self.role, by: record, now: Date())
            }
        }
    }

    struct ChangePassword: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "passwd",
            abstract: "Change a user's password and end the user's sessions.",
            discussion: PasswordInput.discussion
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var password: PasswordInput

        func run() async throws {
            try await self.user.change(self.options, "has another password") { store, name in
                let hash = try self.password.hash(for: name, try self.options.load())
                let record = AuditRecord(.changeUser, of: name.description, detail: "password")
                return try await store.changeUser(name, password: hash, by: record, now: Date())
            }
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Disable a user: neither password nor tokens are accepted.",
            discussion: "Nothing is deleted. After `enable` the user can collect what is waiting."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser

        func run() async throws {
            try await self.user.change(self.options, "is disabled") { store, name in
                let record = AuditRecord(.changeUser, of: name.description, detail: "disabled")
                return try await store.changeUser(name, isDisabled: true, by: record, now: Date())
            }
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Enable a disabled user.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser

        func run() async throws {
            try await self.user.change(self.options, "is not disabled") { store, name in
                let record = AuditRecord(.changeUser, of: name.description, detail: "enabled")
                return try await store.changeUser(name, isDisabled: false, by: record, now: Date())
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a user with all tokens, devices and received notifications."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser

        func run() async throws {
            try await self.user.change(self.options, "is deleted") { store, name in
                try await store.deleteUser(name, by: AuditRecord(.deleteUser, of: name.description))
            }
        }
    }
}

/// The user whom a command changes.
struct ExistingUser: ParsableArguments {
    @Argument(help: "The user name.")
    var name: String

    /// Makes the change, and prints `result` for the user.
    func change(
        _ options: ConfigurationOptions,
        _ result: String,
        _ body: (any Store, Username) async throws -> UserChange
    ) async throws {
        try await reportingErrors {
            try await withStore(try options.load()) { store in
                guard let name = Username(self.name) else {
                    throw CommandFailure("user \(self.name) does not exist; see sealpost user list")
                }
                switch try await body(store, name) {
                case .done: print("\(name) \(result)")
                case .missing: throw CommandFailure("user \(name) does not exist; see sealpost user list")
                case .lastAdministrator:
                    throw CommandFailure("\(name) is the last enabled administrator; add another one first")
                }
            }
        }
    }
}

extension Role: ExpressibleByArgument {}
