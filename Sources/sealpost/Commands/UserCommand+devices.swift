import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushCore

extension UserCommand {
    struct Code: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "code",
            abstract:
                "Create a one-time code with which a device signs in as the user, and print it; it is shown only once.",
            discussion: """
                The app exchanges it at \(Paths.enrolment), once. Of more than ten codes of a user the oldest ends; all end with the \
                user's sessions.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        @Option(
            name: .customLong("scope"),
            help: "A scope of the token; may be repeated. Default: fetch, send and register."
        )
        var scopes: [String] = []

        @Option(
            help: "The lifetime of the code, 60 to 86400: seconds, or with a unit, such as 30m. Default: 900",
            transform: Int.seconds
        )
        var expiresIn: Int?

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                var order: [JSONValue.Member] = []
                if let expiresIn {
                    guard EnrolmentCode.lifetime.contains(.seconds(expiresIn)) else {
                        throw ValidationError("--expires-in must be 60 to 86400 seconds")
                    }
                    order.append(.init("ExpiresIn", .number(expiresIn)))
                }
                if !self.scopes.isEmpty { order.append(.init("Scopes", .array(self.scopes.map { .string($0) }))) }
                let (path, body) = (Paths.userEnrolment(try self.user.segment), JSONValue.object(order))
                try await self.user.asking(try self.options.load()) { administration in
                    let code = try await administration.ask("POST", path, body) ?? .null
                    self.output.show(code, code.field("Code"))
                }
            }
        }
    }

    struct Tags: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "tags",
            abstract: "Show the tags assigned to a user, or replace all of them.",
            discussion: "A notification to such a tag reaches all devices of the user, and the user may read it."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var user: ExistingUser
        @OptionGroup var output: OutputOptions

        @Argument(help: "The new tags, which replace all others. Without tags, the command shows the present ones.")
        var tags: [String] = []

        @Flag(help: "Remove all tags of the user.")
        var none = false

        func validate() throws {
            if self.none, !self.tags.isEmpty { throw ValidationError("--none and tags cannot be combined") }
        }

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let path = Paths.userTags(try self.user.segment)
                let changed = JSONValue.object([.init("Tags", .array(self.tags.map { .string($0) }))])
                try await self.user.asking(try self.options.load()) { administration in
                    if self.none || !self.tags.isEmpty { try await administration.ask("PUT", path, changed) }
                    // Reads the present tags: somebody else may have changed them meanwhile.
                    let current = try await administration.ask("GET", path) ?? .null
                    let texts = current.texts("Tags")
                    self.output.show(
                        .object([.init("Name", .string(self.user.name)), .init("Tags", current["Tags"] ?? .array([]))]),
                        "\(self.user.name) \(texts.isEmpty ? "has no tags" : "has the tags \(texts.joined(separator: " "))")"
                    )
                }
            }
        }
    }
}
