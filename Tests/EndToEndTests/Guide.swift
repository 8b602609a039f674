import Foundation
import PushTesting

/// The commands of a page of the documentation, which a reader pastes one after the other, and
/// their documented output.
///
/// A block of the language bash is run if the line before it is `<!-- run -->`. A following block
/// of the language text has lines of the expected output, in which `…` stands for anything.
struct Guide {
    struct Step {
        let script: Substring
        /// The expected lines in order; the output may contain other lines in between.
        let lines: [Substring]

        /// Returns the first expected line that the output does not contain after the line
        /// expected before it; `nil` if the output has all lines in order.
        func missing(in output: Substring) -> Substring? {
            var rest = output
            return self.lines.first { line in
                guard let end = Self.end(of: line, in: rest) else { return true }
                rest = rest[end...]
                return false
            }
        }

        private static func end(of line: Substring, in text: Substring) -> String.Index? {
            var index: String.Index? = text.startIndex
            for part in line.split(separator: "…") {
                index = index.flatMap { text[$0...].range(of: part)?.upperBound }
            }
            return index
        }
    }

    /// The separator between the outputs of two steps.
    static let separator: Character = "\u{1E}"
    private static var block: Regex<(Substring, Substring, Substring?)> {
        /<!-- run -->\n```bash\n((?s).*?)```\n(?:\n```text\n((?s).*?)```)?/
    }

    let steps: [Step]

    init(page: String) throws {
        self.steps = try Repository.text(of: page).matches(of: Self.block).map { match in
            Step(script: match.output.1, lines: match.output.2?.split(separator: "\n") ?? [])
        }
    }

    /// All steps as one script, which stops at the first failure. At its end, the script stops the
    /// programs that still run.
    var script: String {
        let steps = self.steps.map { "printf '\\036'\n\($0.script)" }.joined()
        return "set -e\n\(steps)\nkill $(jobs -p) 2> /dev/null || true\nwait || true\n"
    }
}
