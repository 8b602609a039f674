import Foundation
import PushServer
import PushTesting
import Testing
import Yams

@testable import PushApplication
@testable import sealpost

/// Each key of `config/sealpost.yaml` has an environment variable that can set it.
@Suite(.timeLimit(.minutes(5))) struct ConfigurationEnvironmentTests {
    /// A configuration key, its environment variable, and its value as the text of that variable.
    private struct Key {
        let path: [String]
        let value: String

        var variable: String { ConfigurationSource.variable(self.path) }
    }

    @Test func theEnvironmentAloneSetsEachKeyAsTheFileDoes() throws {
        let keys = try Self.keys()
        #expect(keys.count > 150)
        #expect(Set(keys.map(\.variable)).count == keys.count, "two keys have the same variable")
        let environment = Dictionary(uniqueKeysWithValues: keys.map { ($0.variable, $0.value) })
        let example = try Configuration.load(file: Self.file, environment: [:])
        Self.expect(try Configuration.load(file: nil, environment: environment), toEqual: example)
    }

    /// A variable that sets one key of a section must not undo what the file sets for the
    /// section's other keys.
    @Test func eachVariableCanBeSetBesideTheFile() throws {
        let example = try Configuration.load(file: Self.file, environment: [:])
        for key in try Self.keys() {
            let environment = [key.variable: key.value]
            Self.expect(try Configuration.load(file: Self.file, environment: environment), toEqual: example)
        }
    }

    // MARK: - Private

    private static let file = Repository.file("config/sealpost.yaml").path

    /// Returns the keys of the example file that have a value. A map without entries has no
    /// variable.
    private static func keys() throws -> [Key] {
        func leaves(_ node: Node, _ path: [String]) -> [Key] {
            switch node {
            case .mapping(let mapping):
                mapping.flatMap { leaves($1, path + [$0.string ?? ""]) }
            case .sequence(let elements):
                [Key(path: path, value: elements.compactMap(\.string).joined(separator: ","))]
            case .scalar(let scalar): [Key(path: path, value: scalar.string)]
            case .alias: []
            }
        }
        return leaves(try #require(try Yams.compose(yaml: Repository.text(of: "config/sealpost.yaml"))), [])
    }

    private static func expect(
        _ configuration: Configuration,
        toEqual example: Configuration,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(configuration.senders == example.senders, sourceLocation: sourceLocation)
        #expect(configuration.quotas == example.quotas, sourceLocation: sourceLocation)
        #expect(configuration.server.storage == example.server.storage, sourceLocation: sourceLocation)
        #expect(Self.text(of: configuration) == Self.text(of: example), sourceLocation: sourceLocation)
    }

    /// Returns the settings as text. Leaves out `values` (the texts in the file), and also the
    /// dictionaries, whose order in the text may differ.
    private static func text(of configuration: Configuration) -> String {
        var configuration = configuration
        (configuration.senders, configuration.quotas, configuration.values) = ([:], [:], [:])
        configuration.server.storage = [:]
        return "\(configuration)"
    }
}
