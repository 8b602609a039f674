import ArgumentParser
import PushAPI
import PushApplication

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check configuration, database, keys, certificates and credentials.",
        discussion: """
            One line for each check: ok, warn or fail, what was looked at, and what was found. Changes nothing, and may be \
            run beside the server, which it also asks for its state. Root's looks as the user whose files these are. The exit code is 1 if \
            any check fails.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    @Flag(help: "Also connect to each provider and to the collector of spans, and read the keys of the OIDC issuer.")
    var online = false

    func run() async throws {
        let findings: [Finding]
        do {
            let configuration = try self.options.load()
            try configuration.continueAsOwner()
            findings =
                [Finding(.ok, "configuration", "\(self.options.file)")]
                + (try await Doctor(configuration: configuration).examine(online: self.online))
        } catch let error as ConfigurationError {
            let (text, file) = (error.description, "\(self.options.file)")
            findings = [Finding(.fail, "configuration", text.contains(file) ? text : "\(text) (\(file))")]
        } catch let error as CommandFailure {
            findings = [Finding(.fail, "files", "\(error.description) (configuration: \(self.options.file))")]
        }
        for finding in findings { self.output.show(finding.json, finding.description) }
        if findings.contains(where: { $0.grade == .fail }) { throw ExitCode(1) }
    }
}

extension Finding {
    fileprivate var json: JSONValue {
        .object([
            .init("Grade", .string(self.grade.rawValue)), .init("Subject", .string(self.subject)),
            .init("Text", .string(self.text)),
        ])
    }
}
