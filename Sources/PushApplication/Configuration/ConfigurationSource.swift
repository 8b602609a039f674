import Foundation
import PushCore
import Yams

/// The file and the environment from which a configuration is read.
final class ConfigurationSource {
    private static let prefix = "SEALPOST_"
    /// Variables that set no key: the variable with the file's path, and the variable with the
    /// token for the example publishers.
    private static let others: Set = [ConfigurationFile.variable, "SEALPOST_TOKEN"]

    let root: Node.Mapping?
    private let file: String?
    private let environment: [String: String]
    private var knownPaths: Set<[String]> = []

    /// Throws `ConfigurationError` if the file cannot be read or is not a YAML mapping.
    init(file: String?, environment: [String: String]) throws {
        self.file = file
        self.environment = environment
        guard let file else {
            self.root = nil
            return
        }
        let data = try PrivateFile.bytes(of: file, as: "\(file):").bytes
        guard let text = String(data: data, encoding: .utf8) else {
            throw ConfigurationError("\(file): is not UTF-8; save it in that encoding")
        }
        let node = try YAMLText(text, of: file).root()
        guard node == nil || node?.mapping != nil else { throw ConfigurationError("\(file): must be a mapping") }
        self.root = node?.mapping
    }

    /// The values that the file sets, by the paths of their keys. Values that the environment
    /// overrides are left out. Elements of a list have their indexes as keys.
    var values: [String: String] {
        var values: [String: String] = [:]
        if let root { Node.mapping(root).addValues(to: &values, path: []) }
        return values.filter { key, _ in
            let path = key.split(separator: ".").map(String.init)
            return path.indices.allSatisfy { self.environment[Self.variable(Array(path[...$0]))] == nil }
        }
    }

    /// The value of the variable for the key at `path`. Its name is `SEALPOST_` and the path in
    /// upper case, joined by underscores.
    func override(of path: [String]) -> String? {
        self.knownPaths.insert(path)
        return self.environment[Self.variable(path)]
    }

    /// The path of the only key with this name among the keys read so far; `nil` if several keys
    /// or none have the name. So an error can say that the file has the key in the wrong section.
    func path(endingWith name: String) -> String? {
        let found = self.knownPaths.filter { $0.last == name }
        return found.count == 1 ? found.first?.joined(separator: ".") : nil
    }

    /// Throws `ConfigurationError` for a variable that begins with `SEALPOST_` and sets no known
    /// key.
    func finish() throws {
        let known = Set(self.knownPaths.map(Self.variable))
        guard let name = Self.variables(in: self.environment).subtracting(known).min() else { return }
        if RemovedKey.isOne(variable: name) {
            throw ConfigurationError("\(name): unknown environment variable; \(RemovedKey.hint)")
        }
        if let key = known.filter({ $0.hasPrefix("\(name)_") }).min() {
            let hint = "set the keys of this section, such as \(key)"
            throw ConfigurationError("\(name): unknown environment variable; \(hint)")
        }
        // In a name such as `SEALPOST_LISTEN`, the section is missing.
        let ends = known.filter { $0.hasSuffix(name.dropFirst(Self.prefix.count - 1)) }
        let near = known.sorted().nearest(to: name) ?? (ends.count == 1 ? ends.first : nil)
        let isOfSender = name.hasPrefix("\(Self.prefix)SENDERS_")
        let remedy = isOfSender ? ", or set the sender's type, such as SEALPOST_SENDERS_OWN_TYPE" : ""
        let hint = near.map { "did you mean \($0)?" } ?? "unset it or correct its name\(remedy)"
        throw ConfigurationError("\(name): unknown environment variable; \(hint)")
    }

    /// The place that sets a key, for an error: the variable that overrides the key, or else the
    /// file, the line and the path. Without a file, it is the variable that could set the key.
    func place(of path: [String], _ mark: Mark? = nil) -> String {
        // A single variable may set a whole list, so the variables of shorter paths are tried,
        // too. A variable with the name of a section sets nothing, so it is skipped.
        for length in stride(from: path.count, to: 0, by: -1) {
            let variable = Self.variable(Array(path.prefix(length)))
            if self.environment[variable] != nil, self.knownPaths.contains(Array(path.prefix(length))) {
                return ([variable] + path.dropFirst(length).map(YAMLText.shown)).joined(separator: ".")
            }
        }
        guard let file else { return Self.variable(path) }
        let line = (mark?.line).map { ":\($0)" } ?? ""
        return "\(file)\(line): \(path.map(YAMLText.shown).joined(separator: "."))"
    }

    /// The file, the line and the path of a key; `nil` if the file does not set the key.
    func place(ofSet path: [String]) -> String? {
        var node = self.root.map { Node.mapping($0) }
        for name in path {
            let entries = node?.sequence.map(Array.init) ?? []
            let entry = Int(name).flatMap { entries.indices.contains($0) ? entries[$0] : nil }
            node = node?.mapping?[Node(name)] ?? entry
        }
        return path.isEmpty ? nil : node?.mark.map { self.place(of: path, $0) }
    }

    /// The names of the variables below the path, without the part for the path itself:
    /// `APNS_TYPE` for `SEALPOST_SENDERS_APNS_TYPE` if the path is `senders`.
    func ends(under path: [String]) -> [Substring] {
        let start = Self.variable(path) + "_"
        return self.environment.keys.filter { $0.hasPrefix(start) }.map { $0.dropFirst(start.count) }
    }

    /// The names of all environment variables that seem to set keys, including misspelt names.
    static func variables(in environment: [String: String]) -> Set<String> {
        Set(
            environment.filter { name, value in
                name.hasPrefix(self.prefix) && !self.others.contains(name) && !ServiceVariable.isOne(name, value)
            }.keys
        )
    }

    static func variable(_ path: [String]) -> String {
        self.prefix + path.joined(separator: "_").uppercased().replacing("-", with: "_")
    }
}

extension Node {
    fileprivate func addValues(to values: inout [String: String], path: [String]) {
        switch self {
        case .mapping(let mapping):
            for (key, value) in mapping { value.addValues(to: &values, path: path + [key.string ?? ""]) }
        case .sequence(let sequence):
            for (number, value) in sequence.enumerated() { value.addValues(to: &values, path: path + ["\(number)"]) }
        case .scalar(let scalar): values[path.joined(separator: ".")] = scalar.string
        // Yams replaced each alias by its value when it read the file.
        case .alias: break
        }
    }
}
