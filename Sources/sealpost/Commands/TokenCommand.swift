import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushCore
import PushServer

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Manage bearer tokens.",
        discussion: localDiscussion,
        subcommands: [Create.self, List.self, Revoke.self]
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Create a token for a user and print it; it is shown only once."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Argument(help: "The user name.")
        var name: String

        @Option(
            name: .customLong("scope"),
            help:
                "\(Scopes.all.names.joined(separator: ", ")); may be repeated. Default: fetch, send and register."
        )
        var scopes: [String] = []

        @Option(
            help: """
                The lifetime: seconds, or with a unit, such as 90m, 12h or 7d; at most a year. Default: sessions.expiresIn of the \
                configuration.
                """,
            transform: Int.seconds
        )
        var expiresIn: Int?

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                let lifetime = self.expiresIn.map { .seconds($0) } ?? configuration.server.sessionLifetime
                guard BearerToken.lifetime.contains(lifetime) else {
                    let seconds = BearerToken.lifetime.upperBound.components.seconds
                    throw ValidationError("a token's lifetime must be 1 to \(seconds) seconds")
                }
                var order: [JSONValue.Member] = [
                    .init("User", .string(self.name)), .init("ExpiresIn", .number(lifetime.components.seconds)),
                ]
                if !self.scopes.isEmpty { order.append(.init("Scopes", .array(self.scopes.map { .string($0) }))) }
                try await withAdministration(configuration) { administration in
                    do {
                        let token = try await administration.ask("POST", Paths.tokens, .object(order)) ?? .null
                        self.output.show(token, token.field("Token"))
                    } catch let problem as Problem where problem.code == .unknownUser {
                        throw Problem(.notFound, "user \(self.name) does not exist; see sealpost user list")
                    }
                }
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the valid tokens by prefix."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Option(help: "Only the tokens of this user.")
        var user: String?

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                if let user, Username(user) == nil { throw ValidationError("\"\(user)\" is not a user name") }
                try await withAdministration(try self.options.load()) { administration in
                    let query = self.user.map { [("user", $0)] } ?? []
                    var list = self.output.list(["TOKEN", "USER", "KIND", "SCOPES", "UNTIL", "USED"])
                    try await administration.list(Paths.tokens, "Tokens", query: query) { token in
                        list.add(token, cells: Self.cells(token), line: Self.line(token))
                        return true
                    }
                    list.end()
                }
            }
        }

        private static func cells(_ token: JSONValue) -> [String] {
            [
                token.field("Prefix"), token.field("User"), token["Session"] == .bool(true) ? "session" : "token",
                token.texts("Scopes").joined(separator: " "), "\(token.field("ExpiresAt").prefix(10))",
                token["LastUse"]?.text.map { "\($0.prefix(10))" } ?? "never",
            ]
        }

        private static func line(_ token: JSONValue) -> String {
            [
                token.field("Prefix"), token.field("User"), token["Session"] == .bool(true) ? "session" : "token",
                token.texts("Scopes").joined(separator: " "), "until \(token.field("ExpiresAt").prefix(10))",
                token["LastUse"]?.text.map { "used \($0.prefix(10))" } ?? "not used",
            ].joined(separator: "  ")
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "revoke", abstract: "Revoke a token.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Argument(help: "The prefix that `list` shows: spt_ and eight characters.")
        var prefix: String

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                guard let prefix = TokenPrefix(self.prefix) else { throw self.missing }
                try await withAdministration(try self.options.load()) { administration in
                    do {
                        try await administration.ask("DELETE", Paths.token(prefix.description))
                    } catch let problem as Problem where problem.code == .notFound {
                        throw self.missing
                    }
                }
                let result = JSONValue.object([.init("Prefix", .string(prefix.description))])
                self.output.show(result, "token \(prefix) revoked")
            }
        }

        private var missing: Problem {
            Problem(.notFound, "token \(self.prefix) does not exist; see sealpost token list")
        }
    }
}
