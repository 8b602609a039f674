package import ArgumentParser
import Glibc

extension AsyncParsableCommand {
    /// Runs the command as ArgumentParser's `main()` does. For an unknown command, suggests a
    /// known one. Escapes the output.
    package static func runProgram() async {
        do {
            var command = try await self.asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            self.end(with: error)
        }
    }

    private static func end(with error: any Error) -> Never {
        if self.exitCode(for: error) == .validationFailure,
            let unknown = UnknownCommand(in: Array(CommandLine.arguments.dropFirst()), of: self)
        {
            self.exit(withError: CommandProblem(usage: "\(unknown)").report(json: false))
        }
        // ArgumentParser itself would print words of the command line without escaping them.
        let code = self.exitCode(for: error)
        let lines = self.fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines where lines.count > 1 || !line.isEmpty {
            printEscaped(String(line), to: code == .success ? STDOUT_FILENO : STDERR_FILENO)
        }
        self.exit(withError: code)
    }
}
