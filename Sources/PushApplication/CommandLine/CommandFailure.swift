import ArgumentParser
import Glibc
import PushAPI

/// Why a command cannot do its task, worded for the operator.
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
package func reportingErrors(json: Bool = false, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as ValidationError where json {
        throw CommandProblem(usage: error.message).report(json: true)
    } catch {
        guard let problem = CommandProblem(error) else { throw error }
        throw problem.report(json: json)
    }
}

extension CommandProblem {
    /// Prints the problem to standard error, after all log lines; a failure to print does not
    /// change the exit code.
    func report(json: Bool) -> ExitCode {
        LogWriter.standardError.flush(within: .milliseconds(500))
        let text = json ? String(decoding: self.json.bytes, as: UTF8.self) : "sealpost: \(self.detail)"
        printEscaped(text, to: STDERR_FILENO)
        return ExitCode(self.exitCode)
    }
}
