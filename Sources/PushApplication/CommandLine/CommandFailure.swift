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

/// Runs `body`, the work of a command. If an error is one that an operator can fix, prints one
/// line about it and exits with its code. With `json`, prints a problem that scripts can read.
///
/// The output also names the configuration in use, unless its user has just typed its name: a
/// command that was started in the wrong folder uses another configuration than its user believes.
package func reportingErrors(
    json: Bool = false,
    using configuration: ConfigurationFile? = nil,
    _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch let error as ValidationError {
        // ArgumentParser would print the usage of `sealpost`, and not that of the command.
        throw CommandProblem(usage: error.message).report(json: json)
    } catch {
        guard let problem = CommandProblem(error.named(by: configuration)) else { throw error }
        throw problem.report(json: json, using: configuration)
    }
}

extension CommandProblem {
    /// Prints the problem to standard error, after all log lines, and returns the exit code. The
    /// code stays the same if the problem cannot be printed.
    func report(json: Bool, using configuration: ConfigurationFile? = nil) -> ExitCode {
        LogWriter.standardError.flush(within: .milliseconds(500))
        if json {
            printEscaped(String(decoding: self.json(using: configuration).bytes, as: UTF8.self), to: STDERR_FILENO)
        } else {
            printEscaped("sealpost: \(self.detail)", to: STDERR_FILENO)
            // A wrong argument is wrong with every configuration.
            if let configuration, self.exitCode != 64, !configuration.isKnown(from: self.detail) {
                printEscaped("sealpost: configuration: \(configuration)", to: STDERR_FILENO)
            }
        }
        return ExitCode(self.exitCode)
    }

    private func json(using configuration: ConfigurationFile?) -> JSONValue {
        guard let configuration, case .object(let members) = self.json else { return self.json }
        return .object(members + [.init("configuration", .string("\(configuration)"))])
    }
}

extension Error {
    /// The error. If its message names a key of the configuration, the message gets the file and
    /// line, or the variable, that set the key.
    fileprivate func named(by configuration: ConfigurationFile?) -> any Error {
        guard let configuration else { return self }
        return switch self {
        case let error as ConfigurationError: ConfigurationError(configuration.naming(error.description))
        case let error as CommandFailure: CommandFailure(configuration.naming(error.description), error.code)
        default: self
        }
    }
}
