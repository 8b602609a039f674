import ArgumentParser
import Glibc
import PushAPI

/// The reason why a command cannot do its task, worded for the operator.
package struct CommandFailure: Error, CustomStringConvertible {
    package let description: String
    let code: CommandProblem.Code

    package init(_ description: String, _ code: CommandProblem.Code = .commandFailed) {
        self.description = description
        self.code = code
    }
}

/// Runs a command's work, and turns errors that an operator can fix into one line and an exit
/// code; with `json`, into a problem that scripts can read.
///
/// A second line, or a member of the problem, names the configuration: a command in the wrong
/// folder uses another configuration than its user believes.
package func reportingErrors(
    json: Bool = false,
    using configuration: ConfigurationFile? = nil,
    _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch let error as ValidationError where json {
        throw CommandProblem(usage: error.message).report(json: true)
    } catch {
        let named = (error as? ConfigurationError).flatMap { configuration?.naming($0) }
        guard let problem = CommandProblem(named ?? error) else { throw error }
        throw problem.report(json: json, using: configuration)
    }
}

extension CommandProblem {
    /// Prints the problem to standard error, after all log lines; a failure to print does not
    /// change the exit code.
    func report(json: Bool, using configuration: ConfigurationFile? = nil) -> ExitCode {
        LogWriter.standardError.flush(within: .milliseconds(500))
        if json {
            printEscaped(String(decoding: self.json(using: configuration).bytes, as: UTF8.self), to: STDERR_FILENO)
        } else {
            printEscaped("sealpost: \(self.detail)", to: STDERR_FILENO)
            if let configuration { printEscaped("sealpost: configuration: \(configuration)", to: STDERR_FILENO) }
        }
        return ExitCode(self.exitCode)
    }

    private func json(using configuration: ConfigurationFile?) -> JSONValue {
        guard let configuration, case .object(let members) = self.json else { return self.json }
        return .object(members + [.init("configuration", .string("\(configuration)"))])
    }
}
