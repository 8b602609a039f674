import PushAPI
import PushServer
import PushStore
import Reactor

/// The reason why a command failed: a sentence for people, and a code for scripts.
package struct CommandProblem: Error {
    /// The codes of faults outside of the API; the API has codes of its own. A later version never
    /// renames a code.
    package enum Code: String, CaseIterable {
        /// The arguments or options are not valid.
        case wrongUsage = "wrong-usage"
        /// The configuration, or a file that it names, cannot be used.
        case badConfiguration = "bad-configuration"
        /// The database cannot be opened, read or written.
        case databaseFailed = "database-failed"
        /// A server runs on this machine, but does not answer.
        case serverUnreachable = "server-unreachable"
        /// The stored audit records were changed.
        case auditChanged = "audit-changed"
        /// Some lines of an import were refused; all other lines were imported.
        case linesRefused = "lines-refused"
        /// Any fault without a code of its own.
        case commandFailed = "command-failed"

        var title: String {
            switch self {
            case .wrongUsage: "The command has wrong options or arguments"
            case .badConfiguration: "The configuration cannot be used"
            case .databaseFailed: "The database cannot be used"
            case .serverUnreachable: "The server cannot be reached"
            case .auditChanged: "The audit was changed"
            case .linesRefused: "Lines were refused"
            case .commandFailed: "The command failed"
            }
        }
    }

    let exitCode: Int32
    let detail: String
    let json: JSONValue

    /// The problem that describes an error; `nil` for an error that operators cannot fix, such as
    /// a mistake in the program.
    init?(_ error: any Error) {
        switch error {
        case let problem as CommandProblem: self = problem
        case let error as ConfigurationError: self.init(78, .badConfiguration, error)
        case let error as StoreError where error.isConfiguration: self.init(78, .badConfiguration, error)
        case let error as StoreError: self.init(1, .databaseFailed, error)
        case let error as AdminSocketError: self.init(1, .serverUnreachable, error)
        case let error as CommandFailure:
            self.init(error.code == .badConfiguration ? 78 : 1, error.code, error)
        case let error as SystemError: self.init(1, .commandFailed, error)
        case let problem as Problem where problem.type == LocalPaths.unusableDatabase:
            self.init(78, .badConfiguration, problem.detail ?? problem.title)
        case let problem as Problem:
            // The server's status 400 or 413 means that the command was used wrongly. Some 400s
            // depend on a user's state: the same command succeeds once the user exists, or no
            // longer requires encryption.
            let isState = [ProblemCode.unknownUser, .encryptionRequired].contains(problem.code)
            let isUsage = [400, 413].contains(problem.status) && !isState
            self.init(exitCode: isUsage ? 64 : 1, detail: problem.detail ?? problem.title, json: problem.json)
        default: return nil
        }
    }

    /// A wrong use of the command, with the message that ArgumentParser would print.
    init(usage message: String) {
        self.init(64, .wrongUsage, message)
    }

    /// Any other failure, described by a sentence.
    init(failure: String) {
        self.init(1, .commandFailed, failure)
    }

    /// The problem in the daemon's answer to a command; `nil` if the answer is a result.
    init?(in answer: JSONValue) {
        guard let json = answer["Problem"], let exitCode = answer["ExitCode"]?.integer else { return nil }
        self.init(exitCode: Int32(clamping: exitCode), detail: json["detail"]?.text ?? "", json: json)
    }

    /// The answer that the daemon sends in place of a result.
    var answer: JSONValue {
        .object([.init("Problem", self.json), .init("ExitCode", .number(Int(self.exitCode)))])
    }

    private init(_ exitCode: Int32, _ code: Code, _ error: some CustomStringConvertible) {
        let json = JSONValue.object([
            .init("type", .string("urn:sealpost:command:\(code.rawValue)")),
            .init("title", .string(code.title)),
            .init("detail", .string(error.description)),
        ])
        self.init(exitCode: exitCode, detail: error.description, json: json)
    }

    private init(exitCode: Int32, detail: String, json: JSONValue) {
        self.exitCode = exitCode
        self.detail = detail
        self.json = json
    }
}
