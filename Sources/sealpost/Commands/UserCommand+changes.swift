import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushCore
import PushServer

extension UserCommand {
    struct ChangeRole: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "role", abstract: "Change a user's role.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        @Argument(help: "\(Role.allCases.map(\.rawValue).joined(separator: ", "))")
        var role: Role

        func run() async throws {
            try await self.user.change(self.options, self.output, "is \(self.role.rawValue)") {
                .init("Role", .string(self.role.rawValue))
            }
        }
    }

    struct ChangePassword: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "passwd",
            abstract: "Set a user's password, and end the user's sessions.",
            discussion: PasswordInput.discussion
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions
        @OptionGroup var password: PasswordInput

        func run() async throws {
            // Nobody should type a password for a user who does not exist.
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let path = Paths.user(try self.user.segment)
                try await self.user.asking(try self.options.load()) { try await $0.ask("GET", path) }
            }
            try await self.user.change(self.options, self.output, "has a new password") {
                .init("Password", .string(try self.password.read()))
            }
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disable",
            abstract: "Disable a user: the server refuses all of the user's credentials.",
            discussion: "Nothing is deleted. After `enable`, the user can fetch the waiting notifications."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await self.user.change(self.options, self.output, "is disabled") { .init("Disabled", .bool(true)) }
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "enable", abstract: "Enable a disabled user.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await self.user.change(self.options, self.output, "is enabled") { .init("Disabled", .bool(false)) }
        }
    }

    struct Encryption: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "encryption",
            abstract: "Require end-to-end encryption for a user, or end that.",
            discussion: """
                The server refuses clear payloads that name the user, and leaves the user out of those for tags and broadcasts. \
                Clear payloads that are already stored stay until they expire.
                """
        )

        enum Requirement: String, CaseIterable, ExpressibleByArgument {
            case required, optional
        }

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        @Argument(help: "\(Requirement.allCases.map(\.rawValue).joined(separator: ", "))")
        var requirement: Requirement

        func run() async throws {
            let isRequired = self.requirement == .required
            let result = isRequired ? "gets end-to-end payloads only" : "gets clear payloads, too"
            try await self.user.change(self.options, self.output, result) {
                .init("RequiresEncryption", .bool(isRequired))
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Delete a user with all tokens, devices and received notifications."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await self.user.change(self.options, self.output, "is deleted") { nil }
        }
    }
}

/// The user whom a command changes.
struct ExistingUser: ParsableArguments {
    @Argument(help: "The user name.")
    var name: String

    /// Sets the user's member that `change` returns; if that is `nil`, deletes the user. Prints
    /// `result`, or for scripts the user's JSON.
    func change(
        _ options: ConfigurationOptions,
        _ output: OutputOptions,
        _ result: String,
        _ change: () throws -> JSONValue.Member?
    ) async throws {
        try await reportingErrors(json: output.json, using: options.file) {
            let configuration = try options.load()
            let member = try change()
            let isDeletedByQuery = member == nil && Username(self.name)?.isDotSegment == true
            let path = isDeletedByQuery ? "\(LocalPaths.users)?name=\(self.name)" : Paths.user(try self.segment)
            try await self.asking(configuration) { administration in
                do {
                    try await administration.ask(member == nil ? "DELETE" : "PATCH", path, member.map { .object([$0]) })
                } catch let problem as Problem where problem.code == .lastAdministrator {
                    let reason = "\(self.name) is the last enabled administrator; add another one first"
                    throw Problem(.lastAdministrator, reason)
                }
                var user = JSONValue.object([.init("Name", .string(self.name))])
                // Reads the user's present state: somebody else may have changed other members
                // meanwhile.
                if output.json, member != nil { user = try await administration.ask("GET", path) ?? user }
                output.show(user, "\(self.name) \(result)")
            }
        }
    }

    /// Runs `body` as `withAdministration` does. If the user does not exist, throws a `Problem`
    /// that names the user.
    func asking(_ configuration: Configuration, _ body: (Administration) async throws -> Void) async throws {
        try await withAdministration(configuration) { administration in
            do {
                try await body(administration)
            } catch let problem as Problem where problem.code == .notFound {
                throw self.missing
            }
        }
    }

    /// The name as a segment of a path. Throws the error of `asking` for a text that cannot be a
    /// user's name.
    var segment: String {
        get throws {
            guard Username.ofNewUser(self.name) != nil else { throw self.missing }
            return Administration.encoded(self.name)
        }
    }

    private var missing: Problem { Problem(.notFound, "user \(self.name) does not exist; see sealpost user list") }
}

extension Role: ExpressibleByArgument {}
