import ArgumentParser
import Foundation
import PushAPI
import PushCore
import PushStore

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Manage bearer tokens.",
        discussion: "A running server locks the database: use /api/tokens instead.",
        subcommands: [Create.self, List.self, Revoke.self]
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a token for a user and print it; it is shown only once."
        )

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "The user name.")
        var name: String

        @Option(
            name: .customLong("scope"),
            help:
                "\(Scopes.all.names.joined(separator: ", ")); may be repeated. Default: all of the user's role but manage."
        )
        var scopes: [String] = []

        @Option(help: "Lifetime in seconds, at most a year. Default: sessions.expiresIn of the configuration.")
        var expiresIn: Int?

        func run() async throws {
            try await reportingErrors {
                let configuration = try self.options.load()
                let lifetime = Duration.seconds(self.expiresIn ?? configuration.sessionExpiresIn)
                guard BearerToken.lifetime.contains(lifetime) else {
                    let seconds = BearerToken.lifetime.upperBound.components.seconds
                    throw ValidationError("a token's lifetime must be 1 to \(seconds) seconds")
                }
                try await withStore(configuration) { store in
                    print(
                        try await self.create(in: store, expiresAt: Date() + TimeInterval(lifetime.components.seconds))
                    )
                }
            }
        }

        private func create(in store: any Store, expiresAt: Date) async throws -> String {
            guard let name = Username(self.name), let user = try await store.makeReader().user(named: name) else {
                throw CommandFailure("user \(self.name) does not exist; see sealpost user list")
            }
            let scopes: Scopes
            do throws(ScopeError) {
                scopes = self.scopes.isEmpty ? user.role.usualScopes : try user.role.scopes(named: self.scopes)
            } catch {
                throw ValidationError("\(error)")
            }
            let token = try await store.addToken(
                for: name,
                scopes: scopes,
                expiresAt: expiresAt,
                by: AuditRecord(
                    .addToken,
                    of: user.name.description,
                    detail: "scopes \(scopes), until \(expiresAt.rfc3339)"
                ),
                now: Date()
            )
            guard let token else { throw CommandFailure("user \(self.name) does not exist; see sealpost user list") }
            return token.text.exposed
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the valid tokens by prefix.")

        @OptionGroup var options: ConfigurationOptions

        @Option(help: "Only the tokens of this user.")
        var user: String?

        func run() async throws {
            let user = try self.user.map { text in
                guard let name = Username(text) else { throw ValidationError("\"\(text)\" is not a user name") }
                return name
            }
            try await reportingErrors {
                try await withStore(try self.options.load()) { store in
                    let reader = try store.makeReader()
                    var last: TokenPrefix?
                    repeat {
                        let page = try await reader.tokens(of: user, after: last, limit: 500, now: Date())
                        for token in page { print(Self.line(token)) }
                        last = page.last?.prefix
                    } while last != nil
                }
            }
        }

        private static func line(_ token: TokenEntry) -> String {
            let origin = token.isSession ? "session" : "token"
            let use = token.usedAt.map { "used \(day($0))" } ?? "not used"
            return
                "\(token.prefix)  \(token.username)  \(origin)  \(token.scopes)  until \(day(token.expiresAt))  \(use)"
        }

        private static func day(_ date: Date) -> String {
            date.formatted(.iso8601.year().month().day())
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Revoke a token.")

        @OptionGroup var options: ConfigurationOptions

        @Argument(help: "The prefix that `list` shows: spt_ and eight characters.")
        var prefix: String

        func run() async throws {
            try await reportingErrors {
                try await withStore(try self.options.load()) { store in
                    let record = AuditRecord(.revokeToken, of: self.prefix)
                    guard
                        let prefix = TokenPrefix(self.prefix),
                        try await store.revokeToken(prefix, by: record) != nil
                    else { throw CommandFailure("token \(self.prefix) does not exist; see sealpost token list") }
                    print("token \(prefix) revoked")
                }
            }
        }
    }
}
