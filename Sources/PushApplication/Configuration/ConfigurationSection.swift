import CivilTime
import Foundation
import PushCore
import Yams

/// One mapping of the configuration file, read key by key; the environment overrides each.
///
/// `finish()` refuses keys that were never read, so that a misspelt key is not silently ignored.
final class ConfigurationSection {
    private let source: ConfigurationSource
    private let path: [String]
    private let node: Node.Mapping?
    private var known: Set<String> = []

    init(source: ConfigurationSource, path: [String], node: Node.Mapping?) {
        self.source = source
        self.path = path
        self.node = node
    }

    /// The names in the file, in their order.
    var names: [String] { self.node?.keys.compactMap(\.string) ?? [] }

    func section(_ key: String) throws -> ConfigurationSection {
        self.known.insert(key)
        let node = self.node?[Node(key)]
        guard let node, node != "", node.null == nil else {
            return ConfigurationSection(source: self.source, path: self.path + [key], node: nil)
        }
        guard let mapping = node.mapping else { throw self.error(key, node, "must be a mapping") }
        return ConfigurationSection(source: self.source, path: self.path + [key], node: mapping)
    }

    /// A list of mappings, whose keys are numbered from 0.
    func sections(_ key: String) throws -> [ConfigurationSection] {
        guard let node = try self.value(key) else { return [] }
        guard let mappings = node.sequence?.map(\.mapping), !mappings.contains(nil) else {
            throw self.error(key, node, "must be a list of mappings")
        }
        return mappings.enumerated().map { index, mapping in
            ConfigurationSection(source: self.source, path: self.path + [key, "\(index)"], node: mapping)
        }
    }

    /// Whether the key is there and its value is `null`.
    func isNull(_ key: String) throws -> Bool {
        self.known.insert(key)
        if let text = self.source.override(of: self.path + [key]) {
            guard text == "null" else { throw self.error(key, nil, "must be null or a mapping") }
            return true
        }
        return self.node?[Node(key)]?.null != nil
    }

    func string(_ key: String) throws -> String? {
        guard let node = try self.value(key) else { return nil }
        guard let text = node.scalar?.string else { throw self.error(key, node, "must be a text") }
        return text
    }

    func requiredString(_ key: String) throws -> String {
        guard let text = try self.string(key), !text.isEmpty else {
            throw ConfigurationError("\(self.source.place(of: self.path)): \(key) is missing")
        }
        return text
    }

    func string(_ key: String, oneOf choices: [String]) throws -> String? {
        guard let text = try self.string(key) else { return nil }
        guard choices.contains(text) else {
            throw self.error(key, try self.value(key), "must be one of \(choices.joined(separator: ", "))")
        }
        return text
    }

    func integer(_ key: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let node = try self.value(key) else { return nil }
        guard let number = node.scalar.flatMap({ Int($0.string) }), range.contains(number) else {
            throw self.error(key, node, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// `.some(nil)` if the value is `null`.
    func integerOrNull(_ key: String, in range: ClosedRange<Int>) throws -> Int?? {
        let text = self.source.override(of: self.path + [key])
        if text == "null" || text == nil && self.node?[Node(key)]?.null != nil {
            self.known.insert(key)
            return .some(nil)
        }
        return try self.integer(key, in: range).map { .some($0) }
    }

    func seconds(_ key: String) throws -> Duration? {
        try self.integer(key, in: 1...31_536_000).map { .seconds($0) }
    }

    /// A day such as 2027-01-31; returns its beginning in UTC.
    func day(_ key: String) throws -> Date? {
        guard let text = try self.string(key) else { return nil }
        guard let milliseconds = CivilTime.milliseconds(rfc3339: "\(text)T00:00:00Z") else {
            throw self.error(key, try self.value(key), "must be a day such as 2027-01-31")
        }
        return Date(timeIntervalSince1970: TimeInterval(milliseconds / 1000))
    }

    func bool(_ key: String) throws -> Bool? {
        try self.string(key, oneOf: ["true", "false"]).map { $0 == "true" }
    }

    /// A list, or a single text for a list of one.
    func strings(_ key: String) throws -> [String]? {
        guard let node = try self.value(key) else { return nil }
        if let text = node.scalar?.string { return [text] }
        guard let elements = node.sequence?.map({ $0.scalar?.string }), !elements.contains(nil) else {
            throw self.error(key, node, "must be a list of texts")
        }
        return elements.compactMap(\.self)
    }

    /// Throws `ConfigurationError` for a key of the file that was never read.
    func finish() throws {
        for key in self.node?.keys.compactMap({ $0 }) ?? [] where !self.known.contains(key.string ?? "") {
            let name = key.string ?? "?"
            throw self.error(name, key, "is not known here; \(self.hint(at: name))")
        }
    }

    func error(_ key: String, _ node: Node?, _ reason: String) -> ConfigurationError {
        ConfigurationError("\(self.source.place(of: self.path + [key], node)): \(reason)")
    }

    /// The probably intended key: one in the same section, or the same one in another section.
    private func hint(at name: String) -> String {
        let known = self.known.sorted()
        if let near = known.nearest(to: name) ?? self.source.path(endingWith: name) { return "did you mean \(near)?" }
        return "known are \(known.joined(separator: ", "))"
    }

    private func value(_ key: String) throws -> Node? {
        self.known.insert(key)
        if let text = self.source.override(of: self.path + [key]) {
            guard text.hasPrefix("[") else { return Node(text) }
            return try YAMLText(text, of: self.source.place(of: self.path + [key])).root()
        }
        guard let node = self.node?[Node(key)], node.null == nil else { return nil }
        return node
    }
}

/// The file and the environment from which a configuration is read.
final class ConfigurationSource {
    private static let prefix = "SEALPOST_"

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
            let text = try String(contentsOfFile: file, encoding: .utf8)
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

    /// The only key read so far that has this name, if there is one: the file has the key in the
    /// wrong section.
    func path(endingWith name: String) -> String? {
        let found = self.knownPaths.filter { $0.last == name }
        return found.count == 1 ? found.first?.joined(separator: ".") : nil
    }

    /// Throws `ConfigurationError` for an unknown variable with the prefix.
    func finish() throws {
        let known = Set(self.knownPaths.map(Self.variable))
        let unknown = self.environment.keys.filter { $0.hasPrefix(Self.prefix) && !known.contains($0) }
        guard let name = unknown.min() else { return }
        // For example, `SEALPOST_LISTEN` lacks the section.
        let ends = known.filter { $0.hasSuffix(name.dropFirst(Self.prefix.count - 1)) }
        let near = known.sorted().nearest(to: name) ?? (ends.count == 1 ? ends.first : nil)
        let hint = near.map { "did you mean \($0)?" } ?? "unset it or correct its name"
        throw ConfigurationError("\(name): unknown environment variable; \(hint)")
    }

    /// The place of a key, for an error: the variable that overrides it, or file and line, and the
    /// key's path.
    func place(of path: [String], _ node: Node? = nil) -> String {
        // A list that one variable sets has no line numbers.
        for length in stride(from: path.count, to: 0, by: -1) {
            let variable = Self.variable(Array(path.prefix(length)))
            if self.environment[variable] != nil {
                return ([variable] + path.dropFirst(length).map(YAMLText.shown)).joined(separator: ".")
            }
        }
        let line = (node?.mark?.line).map { ":\($0)" } ?? ""
        return "\(self.file ?? "configuration")\(line): \(path.map(YAMLText.shown).joined(separator: "."))"
    }

    private static func variable(_ path: [String]) -> String {
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
