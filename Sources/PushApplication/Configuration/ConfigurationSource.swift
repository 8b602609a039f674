import Foundation
import PushCore
import Yams

/// The file and the environment from which a configuration is read.
final class ConfigurationSource {
    private static let prefix = "SEALPOST_"
    /// Variables that are no keys: the file's name, and the token that the example publishers
    /// read.
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
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: file)).withoutByteOrderMark
            guard let text = String(data: data, encoding: .utf8) else {
                throw ConfigurationError("\(file): is not UTF-8; save it in that encoding")
            }
            let node = try YAMLText(text, of: file).root()
            guard node == nil || node?.mapping != nil else { throw ConfigurationError("\(file): must be a mapping") }
            self.root = node?.mapping
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError("\(file): cannot be read: \(error.localizedDescription)")
        }
    }

    /// The texts of the file by the paths of their keys, without the texts that the environment
    /// overrides; elements of lists are numbered from 0.
    var values: [String: String] {
        var values: [String: String] = [:]
        if let root { Node.mapping(root).addValues(to: &values, path: []) }
        return values.filter { key, _ in
            let path = key.split(separator: ".").map(String.init)
            return path.indices.allSatisfy { self.environment[Self.variable(Array(path[...$0]))] == nil }
        }
    }

    /// The value of `SEALPOST_` and the path in upper case, joined by underscores.
    func override(of path: [String]) -> String? {
        self.knownPaths.insert(path)
        return self.environment[Self.variable(path)]
    }

    /// The key with this name, if exactly one of the keys read so far has it: the file has the key
    /// in the wrong section.
    func path(endingWith name: String) -> String? {
        let found = self.knownPaths.filter { $0.last == name }
        return found.count == 1 ? found.first?.joined(separator: ".") : nil
    }

    /// Throws `ConfigurationError` for an unknown variable with the prefix.
    func finish() throws {
        let known = Set(self.knownPaths.map(Self.variable))
        guard let name = Self.variables(in: self.environment).subtracting(known).min() else { return }
        if RemovedKey.isOne(variable: name) {
            throw ConfigurationError("\(name): unknown environment variable; \(RemovedKey.hint)")
        }
        // For example, `SEALPOST_LISTEN` lacks the section.
        let ends = known.filter { $0.hasSuffix(name.dropFirst(Self.prefix.count - 1)) }
        let near = known.sorted().nearest(to: name) ?? (ends.count == 1 ? ends.first : nil)
        let isOfSender = name.hasPrefix("\(Self.prefix)SENDERS_")
        let remedy = isOfSender ? ", or set the sender's type, such as SEALPOST_SENDERS_OWN_TYPE" : ""
        let hint = near.map { "did you mean \($0)?" } ?? "unset it or correct its name\(remedy)"
        throw ConfigurationError("\(name): unknown environment variable; \(hint)")
    }

    /// The place of a key, for an error. This is the variable that overrides the key, or file,
    /// line and path of the key. Without a file, it is the variable that would set the key.
    func place(of path: [String], _ mark: Mark? = nil) -> String {
        // A list that one variable sets has no line numbers.
        for length in stride(from: path.count, to: 0, by: -1) {
            let variable = Self.variable(Array(path.prefix(length)))
            if self.environment[variable] != nil {
                return ([variable] + path.dropFirst(length).map(YAMLText.shown)).joined(separator: ".")
            }
        }
        guard let file else { return Self.variable(path) }
        let line = (mark?.line).map { ":\($0)" } ?? ""
        return "\(file)\(line): \(path.map(YAMLText.shown).joined(separator: "."))"
    }

    /// The place of a key that the file sets; `nil` for other keys.
    func place(ofSet path: [String]) -> String? {
        var node = self.root.map { Node.mapping($0) }
        for name in path {
            let entries = node?.sequence.map(Array.init) ?? []
            let entry = Int(name).flatMap { entries.indices.contains($0) ? entries[$0] : nil }
            node = node?.mapping?[Node(name)] ?? entry
        }
        return path.isEmpty ? nil : node?.mark.map { self.place(of: path, $0) }
    }

    /// For each variable of a key below the path, the rest of its name after the path.
    func ends(under path: [String]) -> [Substring] {
        let start = Self.variable(path) + "_"
        return self.environment.keys.filter { $0.hasPrefix(start) }.map { $0.dropFirst(start.count) }
    }

    /// The variables that set keys, under correct or wrong names.
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
        // Yams resolved aliases when it read the file.
        case .alias: break
        }
    }
}
