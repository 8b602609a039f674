import Glibc

/// Prints a text to standard output or standard error, for a terminal or a pipe; returns whether
/// the whole text was written.
///
/// Users, files and other servers choose parts of the output, so this function escapes them, and
/// no other code does. JSON stays JSON, since its strings may have any character escaped. `start`
/// and `end` come from the program, and are not escaped.
@discardableResult
package func printEscaped(
    _ text: String,
    to descriptor: Int32,
    start: StaticString = "",
    end: StaticString = "\n"
) -> Bool {
    let bytes = Array("\(start)\(LogLine.printable(text))\(end)".utf8)
    return LogFile.write(bytes, to: descriptor) == bytes.count
}

/// Prints a line at once; `print` would buffer it when the output is a pipe.
///
/// If the line cannot be printed, the process exits with 1.
package func say(_ line: String) {
    guard !printEscaped(line, to: STDOUT_FILENO) else { return }
    let reason = String(cString: strerror(errno))
    printEscaped("sealpost: standard output cannot be written: \(reason)", to: STDERR_FILENO)
    exit(1)
}

extension Int {
    /// The number with its noun, such as `1 user` or `2 users`. `plural` is the noun's plural if
    /// it is irregular.
    package func counted(_ noun: String, _ plural: String? = nil) -> String {
        "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
    }
}

/// Prints a text of several lines. Parts of the text that come from outside the program must
/// contain no line breaks.
package func sayLines(_ text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) { say(String(line)) }
}
