import CivilTime
import Foundation
import PushCore
import Yams

/// A mapping of the configuration file. Its keys are read one by one. An environment variable
/// overrides the file's value of a key.
///
/// `finish()` refuses keys that the program has never read, so that a misspelt key is not silently
/// ignored.
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

    /// The names of the mappings inside this mapping. Names in the file come first, in the order
    /// of the file; names that only environment variables contain follow, in lower case.
    ///
    /// `name` finds the mapping's name in the last part of a variable, such as `APNS` in
    /// `APNS_TYPE`; `nil` if the variable adds no mapping.
    func names(_ name: (_ end: Substring) -> Substring?) -> [String] {
        let names = self.node?.keys.compactMap(\.string) ?? []
        let known = Set(names.map { ConfigurationSource.variable([$0]) })
        let others = self.source.ends(under: self.path).compactMap(name).map { $0.lowercased() }
        return names + Set(others).filter { !known.contains(ConfigurationSource.variable([$0])) }.sorted()
    }

    func section(_ key: String) throws -> ConfigurationSection {
        self.known.insert(key)
        let node = self.node?[Node(key)]
        guard let node, node != "", node.null == nil else {
            return ConfigurationSection(source: self.source, path: self.path + [key], node: nil)
        }
        guard let mapping = node.mapping else { throw self.error(key, node, "must be a mapping") }
        return ConfigurationSection(source: self.source, path: self.path + [key], node: mapping)
    }

    /// Reads a section with `body`, and throws `ConfigurationError` for a key that `body` has not
    /// read.
    func section<Value>(_ key: String, _ body: (ConfigurationSection) throws -> Value) throws -> Value {
        let section = try self.section(key)
        let value = try body(section)
        try section.finish()
        return value
    }

    /// The mappings of a list. The path of each mapping contains its index in the list, counted
    /// from 0.
    func sections(_ key: String) throws -> [ConfigurationSection] {
        guard let node = try self.list(key) else { return [] }
        guard let mappings = node.sequence?.map(\.mapping), !mappings.contains(nil) else {
            throw self.error(key, node, "must be a list of mappings")
        }
        return mappings.enumerated().map { index, mapping in
            ConfigurationSection(source: self.source, path: self.path + [key, "\(index)"], node: mapping)
        }
    }

    /// Whether the value of a key that should have a mapping is `null`.
    func isNullSection(_ key: String) throws -> Bool {
        if self.isNull(key) { return true }
        guard self.source.override(of: self.path + [key]) == nil else {
            throw self.error(key, nil, "must be null or a mapping")
        }
        return false
    }

    /// Whether the value of a key is `null`.
    func isNull(_ key: String) -> Bool {
        self.known.insert(key)
        if let text = self.source.override(of: self.path + [key]) { return text == "null" }
        return self.node?[Node(key)]?.null != nil
    }

    func string(_ key: String) throws -> String? {
        guard let node = try self.value(key) else { return nil }
        guard let text = node.scalar?.string else { throw self.error(key, node, "must be a text") }
        return text
    }

    func requiredString(_ key: String) throws -> String {
        guard let text = try self.string(key), !text.isEmpty else { throw self.error(key, nil, "is missing") }
        return text
    }

    /// A text that must not be empty, such as the path of a file; `nil` if the key is missing.
    func nonEmptyString(_ key: String) throws -> String? {
        guard let text = try self.string(key) else { return nil }
        guard !text.isEmpty else { throw self.error(key, nil, "must not be empty; leave it out for the default") }
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

    /// Reads an integer. Returns `.some(nil)` if the value is `null`, and `nil` if the key is
    /// missing.
    func integerOrNull(_ key: String, in range: ClosedRange<Int>) throws -> Int?? {
        if self.isNull(key) { return .some(nil) }
        return try self.integer(key, in: range).map { .some($0) }
    }

    /// A duration: a number of seconds, or a number with the unit `s`, `m`, `h` or `d`.
    func wholeSeconds(_ key: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let node = try self.value(key) else { return nil }
        guard let seconds = node.scalar.flatMap({ Int(secondsOf: $0.string) }), range.contains(seconds) else {
            let bounds = "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            throw self.error(key, node, "\(bounds), in seconds or with a unit: 30s, 5m, 12h, 7d")
        }
        return seconds
    }

    /// The beginning in UTC of the day that the value names, such as 2027-01-31.
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

    /// A list of texts; a single text counts as a list with one element. In an environment
    /// variable, commas separate the texts.
    func strings(_ key: String) throws -> [String]? {
        guard let node = try self.list(key) else { return nil }
        if let text = node.scalar?.string { return [text] }
        guard let elements = node.sequence?.map({ $0.scalar?.string }), !elements.contains(nil) else {
            throw self.error(key, node, "must be a list of texts")
        }
        return elements.compactMap(\.self)
    }

    /// Throws `ConfigurationError` for a key of the file that the program has never read.
    func finish() throws {
        for key in self.node?.keys.compactMap({ $0 }) ?? [] where !self.known.contains(key.string ?? "") {
            let name = key.string ?? "?"
            throw self.error(name, key, "is not known here; \(self.hint(at: name))")
        }
    }

    func error(_ key: String, _ node: Node?, _ reason: String) -> ConfigurationError {
        // For a missing key, the error names the line where its section begins.
        let mark = (node ?? self.node?[Node(key)])?.mark ?? self.node?.mark
        return ConfigurationError("\(self.source.place(of: self.path + [key], mark)): \(reason)")
    }

    /// A hint with the key that was probably intended. It is a similar key of this section, or a
    /// key with the same name in another section. For a sender's section, other sections are not
    /// searched, since they have no keys of senders.
    private func hint(at name: String) -> String {
        if RemovedKey.isOne(self.path + [name]) { return RemovedKey.hint }
        let known = self.known.sorted()
        let isOfSender = ["senders", "apps"].contains(self.path.first)
        let near = known.nearest(to: name) ?? (isOfSender ? nil : self.source.path(endingWith: name))
        if let near { return "did you mean \(near)?" }
        return "known are \(known.joined(separator: ", "))"
    }

    /// The value of a key that may have a list. If a variable's value is in brackets, it is a list
    /// in YAML or JSON. Otherwise commas separate the elements of a variable's value.
    private func list(_ key: String) throws -> Node? {
        guard let text = self.source.override(of: self.path + [key]), text != "null" else {
            return try self.value(key)
        }
        self.known.insert(key)
        // A value such as `[::]:8080` is an address and no list.
        if text.hasPrefix("["), text.hasSuffix("]") {
            return try YAMLText(text, of: self.source.place(of: self.path + [key]), hasLines: false).root()
        }
        guard !text.hasPrefix("[") || text.contains("]") else { throw self.error(key, nil, "lacks the ] of the list") }
        let elements = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        return Node(elements.filter { !$0.isEmpty }.map { Node($0) })
    }

    private func value(_ key: String) throws -> Node? {
        self.known.insert(key)
        if let text = self.source.override(of: self.path + [key]) { return text == "null" ? nil : Node(text) }
        guard let node = self.node?[Node(key)], node.null == nil else { return nil }
        return node
    }
}
