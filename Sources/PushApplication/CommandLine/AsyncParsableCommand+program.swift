package import ArgumentParser
import Glibc

extension AsyncParsableCommand {
    /// Runs the command as ArgumentParser's `main()` does. For an unknown command, suggests a
    /// known one. Escapes the output.
    package static func runProgram() async {
        self.openStandardDescriptors()
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

    /// Opens the standard descriptors that the caller has closed. Otherwise the next opened
    /// descriptor, of an event loop or even of a file, would get the program's output.
    private static func openStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // Reads and writes of a folder fail, as those of a closed descriptor do. The new
            // descriptor is the lowest free one, so it is this one.
            _ = open("/", O_RDONLY | O_DIRECTORY)
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
