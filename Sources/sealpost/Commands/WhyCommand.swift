import ArgumentParser
import PushAPI
import PushApplication
import PushCore

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain why a phone got a notification or not.",
        discussion: """
            \(localDiscussion)

            For a user or a device the command explains the newest notification, unless --notification names another one. Without a \
            server it does not know the pauses of lanes. The exit code is 1 if there is no such user, device and notification.
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name of a user, the id of a device, or the number of a notification.")
    var subject: String

    @Option(help: "The number of the notification to explain for the user or the device.")
    var notification: String?

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            if let notification, NotificationID(notification) == nil {
                throw ValidationError("\"\(notification)\" is not the number of a notification")
            }
            // With an empty segment, the server would read another path.
            guard !self.subject.isEmpty else { throw ValidationError("the user, device or notification is empty") }
            let query = self.notification.map { "?notification=\($0)" } ?? ""
            let target = Paths.why(Administration.encoded(self.subject)) + query
            try await withAdministration(try self.options.load()) { administration in
                let answer = try await administration.ask("GET", target) ?? .null
                self.output.show(answer, answer.elements("Sentences").map { $0.field("Text") })
            }
        }
    }
}
