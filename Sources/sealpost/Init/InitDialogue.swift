import Foundation
import PushApplication
import PushCore

/// Asks the questions of `sealpost init`, on standard error. If an answer is not valid, it prints
/// the reason and asks again.
///
/// Throws `CommandFailure` if the answers end, for example with Ctrl-D.
struct InitDialogue {
    /// Whether somebody at a terminal can answer.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks until an answer is valid; an empty answer means `usual`.
    func ask<Answer>(
        _ question: String,
        usual: String,
        _ check: (String) throws(InitRefusal) -> Answer
    ) throws -> Answer {
        while true {
            self.show("\(question) [\(usual)]: ", end: "")
            let typed = try self.line()
            do throws(InitRefusal) {
                return try check(typed.isEmpty ? usual : typed)
            } catch {
                self.show("  \(error)")
            }
        }
    }

    /// Asks until an answer is valid; an empty answer means `none`.
    func ask<Answer>(
        _ question: String,
        none: String,
        _ check: (String) throws(InitRefusal) -> Answer
    ) throws -> Answer? {
        try self.ask(question, usual: none) { (text) throws(InitRefusal) in text == none ? nil : try check(text) }
    }

    /// Asks for a new password twice, since the terminal does not show what is typed.
    func askPassword(of name: Username, _ parameters: PasswordParameters) throws -> PasswordHash {
        while true {
            let (first, second) = (try self.hidden("   Password of \(name): "), try self.hidden("   Once more: "))
            guard first == second else {
                self.show("  the two passwords differ; type them again")
                continue
            }
            do throws(PasswordError) {
                return try PasswordHash(of: first, chosenFor: name, parameters: parameters)
            } catch {
                self.show("  \(error)")
            }
        }
    }

    func show(_ text: String, end: StaticString = "\n") {
        printEscaped(text, to: STDERR_FILENO, end: end)
    }

    // MARK: - Private

    private func line() throws -> String {
        guard let line = readLine() else {
            self.show("")
            throw CommandFailure("no answer; nothing was written")
        }
        return line.trimmingCharacters(in: .whitespaces)
    }

    private func hidden(_ prompt: String) throws -> String {
        guard let typed = PasswordPrompt.ask(prompt) else { throw CommandFailure("no password; nothing was written") }
        return typed
    }
}
