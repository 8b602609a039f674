import Yams

/// A text that should be YAML and may contain a password.
struct YAMLText {
    /// The file or the variable that contains the text.
    private let place: String
    private let text: String
    private let lines: [Substring]
    /// Whether errors name a line of the text: a variable's value has only one.
    private let hasLines: Bool

    init(_ text: String, of place: String, hasLines: Bool = true) {
        self.place = place
        self.hasLines = hasLines
        self.text = text
        self.lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    }

    /// The root node of the text's only document; `nil` if the text contains no document.
    ///
    /// Throws a `ConfigurationError` with the position and the kind of the fault. The description
    /// by Yams would quote the line, which may contain a password.
    func root() throws(ConfigurationError) -> Node? {
        do {
            let root = try Yams.compose(yaml: self.text)
            if let root { try self.checkLines(of: root) }
            return root
        } catch let error as ConfigurationError {
            throw error
        } catch let error as YamlError {
            let (mark, fault) = self.explain(error)
            throw ConfigurationError("\(self.place)\(self.hasLines ? mark : ""): is not YAML: \(fault)")
        } catch {
            throw ConfigurationError("\(self.place): is not YAML")
        }
    }

    /// A key in the form for errors. Only names are shown: if the blank after a colon is missing,
    /// the value becomes part of the key.
    static func shown(_ key: String) -> String {
        let isName = key.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || "0123456789-_. ".unicodeScalars.contains($0)
        }
        return isName ? key : "(a key that is not shown)"
    }

    /// Throws `ConfigurationError` for an unquoted value that continues on the next line, for
    /// example because of a wrong indent. Later errors would quote that line as part of the value.
    private func checkLines(of node: Node) throws(ConfigurationError) {
        switch node {
        case .mapping(let mapping):
            for (key, value) in mapping {
                try self.checkLines(of: key)
                try self.checkLines(of: value)
            }
        case .sequence(let sequence): for element in sequence { try self.checkLines(of: element) }
        case .scalar(let scalar):
            guard scalar.style == .plain, !scalar.string.isEmpty, let mark = scalar.mark else { return }
            guard self.lines.dropFirst(mark.line - 1).first?.contains(scalar.string) == true else {
                throw ConfigurationError(
                    "\(self.place):\(mark.line):\(mark.column): the value continues in the next line; put it in quotation marks"
                )
            }
        case .alias: break
        }
    }

    private func explain(_ error: YamlError) -> (mark: String, fault: String) {
        switch error {
        // For these faults the problem's text is a constant of libyaml or Yams, so it quotes
        // nothing.
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return (":\(mark.line):\(mark.column)", problem)
        case .reader(let problem, let offset, _, _):
            let line = offset.map { self.text.prefix($0).count(where: \.isNewline) + 1 }
            return (line.map { ":\($0)" } ?? "", problem)
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map(Self.shown).sorted().joined(separator: ", ")
            let first = context.mark
            let second = keys.first.flatMap { self.line(ofNext: $0, after: first) }
            let hint = second.map { _ in ", first in line \(first.line)" } ?? ""
            return (":\(second ?? first.line)", "a mapping has a key twice: \(names)\(hint)")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            return ("", "it cannot be parsed")
        }
    }

    /// The line after `mark` that has the key at the same column; `nil` if the key is quoted, or
    /// if the mapping is in braces.
    private func line(ofNext key: String, after mark: Mark) -> Int? {
        let start = String(repeating: " ", count: max(0, mark.column - 1)) + key
        let index = self.lines.indices.dropFirst(mark.line).first { index in
            self.lines[index].hasPrefix(start)
                && self.lines[index].dropFirst(start.count).first { $0 != " " } == ":"
        }
        return index.map { $0 + 1 }
    }
}
