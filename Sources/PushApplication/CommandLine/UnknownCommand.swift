import ArgumentParser
import PushCore

/// A word in the place of a command that no command has: the operator is told which one was probably meant.
struct UnknownCommand: CustomStringConvertible {
    let description: String

    /// `nil` if each command in `arguments` is known, so that something else is wrong with them.
    init?(in arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        var path = ""
        for argument in arguments {
            // The library's own way to a command's name: most are derived from the type.
            let known = command.configuration.subcommands.map { (name: $0._commandName, type: $0) }
            // What follows belongs to the command, or is an option.
            guard !known.isEmpty, !argument.hasPrefix("-"), argument != "help" else { return nil }
            if let next = known.first(where: { $0.name == argument }) {
                command = next.type
                path += argument + " "
                continue
            }
            let names = known.map(\.name)
            let near = argument.utf8.count <= 40 ? names.nearest(to: argument) : nil
            let hint = near.map { "did you mean \(path)\($0)?" } ?? "known are \(names.joined(separator: ", "))"
            self.description = "unknown command \(path)\(argument); \(hint)"
            return
        }
        return nil
    }
}
