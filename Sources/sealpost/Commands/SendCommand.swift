import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushCore
import PushServer

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send a text to a user, or to all devices with a tag.",
        discussion: """
            \(localDiscussion)

            Others on the machine can see the arguments of a command: give - as the text to read it from standard input.
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The user, unless there is a --tag, and the text; - reads the text from standard input.")
    var words: [String]

    @Option(
        name: .customLong("tag"),
        help: "A tag expression instead of a user, such as \"news && !beta\"; may be repeated."
    )
    var tags: [String] = []

    @Option(help: "The app. Default: default")
    var app: String?

    @Option(help: "When it is sent, a time to come as in RFC 3339: 2026-11-22T08:30:00Z. Default: at once")
    var at: String?

    @Option(help: "The payload's lifetime: seconds, or with a unit, such as 90m, 12h or 7d.", transform: Int.seconds)
    var expiresIn: Int?

    @Flag(help: "The payload can be read once by each recipient.")
    var readOnce = false

    func validate() throws {
        guard self.words.count == (self.tags.isEmpty ? 2 : 1) else {
            throw ValidationError("give a user and a text, or --tag and a text; quote a text with spaces")
        }
        if self.tags.isEmpty, Username(self.words[0]) == nil {
            throw ValidationError("\"\(self.words[0])\" is not the name of a user")
        }
    }

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            let configuration = try self.options.load()
            let order = try self.order(limit: configuration.server.maximumPayload)
            try await withAdministration(configuration) { administration in
                do {
                    let sent = try await administration.ask("POST", LocalPaths.notifications, order) ?? .null
                    self.output.show(sent, Self.line(sent, isDaemon: administration.isDaemon))
                } catch var problem as Problem {
                    // The server's text names members of the request's body, but the user of the
                    // command has given options.
                    problem.detail = problem.detail?.replacing("SendAt", with: "--at")
                        .replacing("ExpiresIn", with: "--expires-in")
                    if problem.code == .encryptionRequired {
                        problem.detail?.append(
                            "; this command sends clear text, so let a backend send with end-to-end encryption"
                        )
                    }
                    throw problem
                }
            }
        }
    }

    /// The body of the request. Throws `ValidationError` for a text whose payload is longer than
    /// `limit`: the server would refuse the body, perhaps before the command has sent all of it.
    private func order(limit: Int) throws -> JSONValue {
        let text = try Self.text(self.words[self.words.count - 1])
        guard !text.isEmpty else { throw ValidationError("the text is empty") }
        let payload = JSONValue.string(text)
        let length = payload.bytes.count
        guard length <= limit else {
            throw ValidationError("the text has \(length) bytes in JSON, more than notifications.maxPayload, \(limit)")
        }
        let to = self.tags.isEmpty ? ["username:\(self.words[0])"] : self.tags
        var members: [JSONValue.Member] = [
            .init("Payload", payload),
            .init("To", .array(to.map { .string($0) })), .init("ReadOnce", .bool(self.readOnce)),
        ]
        if let app { members.append(.init("App", .string(app))) }
        if let at { members.append(.init("SendAt", .string(at))) }
        if let expiresIn { members.append(.init("ExpiresIn", .number(expiresIn))) }
        return .object(members)
    }

    /// The longest text that is read. The server's own limit is lower.
    private static let maximumBytes = 16_777_216

    /// The text of the argument, or of standard input without the newline at its end.
    private static func text(_ argument: String) throws -> String {
        guard argument == "-" else { return argument }
        guard let bytes = try FileHandle.standardInput.read(upToCount: Self.maximumBytes) else { return "" }
        guard var text = String(bytes: bytes, encoding: .utf8) else {
            throw ValidationError("standard input is not UTF-8")
        }
        if text.last?.isNewline == true { text.removeLast() }
        return text
    }

    /// The line that tells people the result.
    static func line(_ sent: JSONValue, isDaemon: Bool) -> String {
        let start = "notification \(sent["Id"]?.integer ?? 0)"
        let end = isDaemon ? "" : "; no server is running, so a server sends it when it starts"
        if let at = sent["SendAt"]?.text { return "\(start) is scheduled for \(at)\(end)" }
        guard let recipients = sent["Recipients"]?.integer, let pushes = sent["Pushes"]?.integer else {
            return "\(start) is accepted; its devices are being looked up\(end)"
        }
        return "\(start) has \(recipients.counted("recipient")) and \(pushes.counted("push", "pushes"))\(end)"
    }
}
