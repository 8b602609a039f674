import Foundation
import PushTesting
import Testing

/// Texts and numbers that the SQLite and the PostgreSQL store need must be in `PushStore`, and not
/// twice in the sources of the stores.
@Suite(.timeLimit(.minutes(5))) struct StoreDuplicationTests {
    @Test func noTextStandsInBothStores() throws {
        let texts = try Self.inBoth { Self.texts(in: $0) }
        #expect(texts.isEmpty, "move it to PushStore")
    }

    @Test func noNumberStandsInBothStores() throws {
        let numbers = try Self.inBoth { source in
            source.matches(of: /static (?:let|var) (\w+)[^\n=]*= ([\d_.]+|(?:Duration)?\.\w+\([\d_.]+\))/)
                .map { "\($0.1) = \($0.2)" }
        }
        #expect(numbers.isEmpty, "move it to PushStore")
    }

    @Test(arguments: [
        (#"throw StoreError.failed(reason: "there is no row \(id)")"#, true),
        (#"query("select a from b where c")"#, false),
        (#"case .app: "n.app is not null""#, false), (#"return "\(first) \(second)""#, false),
        (#""device_by_user""#, false),
    ])
    func onlyTextsThatAreNoSQLCount(source: String, isText: Bool) {
        #expect(Self.texts(in: source).isEmpty == !isText)
    }

    // MARK: - Private

    private static func inBoth(_ find: (String) -> [String]) throws -> [String] {
        let found = try ["Sources/PushSQLite", "Sources/PushPostgreSQL"].map { folder in
            // A smaller number would mean that the test has probably not found the sources.
            let files = try Repository.files(under: folder, ending: ".swift")
            #expect(files.count > 50)
            return Set(files.flatMap { find($0.text.replacing(/(?m)^\s*\/\/.*$/, with: "")) })
        }
        return found[0].intersection(found[1]).sorted()
    }

    /// Returns the string literals with several words that do not look like SQL.
    private static func texts(in source: String) -> [String] {
        let long = source.matches(of: /(?s)"""\n(.*?)"""/).map { String($0.1) }
        let short = source.replacing(/(?s)"""\n.*?"""/, with: "").matches(of: /"((?:[^"\\\n]|\\.)*)"/)
            .map { String($0.1) }
        let sql =
            /^\s*(?:select|insert|update|delete from|case|where|and|or|order by|with \w+ as)\b|^\(|is (?:not )?null|=/
        return (long + short).filter { text in
            let words = text.replacing(/\\\((?:[^()]|\([^()]*\))*\)/, with: "").split(whereSeparator: \.isWhitespace)
            return words.count > 1 && words.joined(separator: " ").count >= 12 && !text.contains(sql)
        }
    }
}
