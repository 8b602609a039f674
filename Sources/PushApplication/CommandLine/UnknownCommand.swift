import ArgumentParser
import PushCore

/// An unknown word in the place of a command, with a suggestion of the command that was probably
/// intended.
struct UnknownCommand: CustomStringConvertible {
    let description: String

    /// `nil` if every command in `arguments` is known, so that the fault is elsewhere.
    init?(in arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        var path = ""
        for argument in arguments {
            // `_commandName` is also set if ArgumentParser derives the name from the type.
            let known = command.configuration.subcommands.map { (name: $0._commandName, type: $0) }
            // If the command has no subcommands, the remaining words are its arguments or options.
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
