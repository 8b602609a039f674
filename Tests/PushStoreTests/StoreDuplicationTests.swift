import Foundation
import PushTesting
import Testing

/// The decisions, texts and numbers that the SQLite and the PostgreSQL store need must be in
/// `PushStore`, and not twice in the sources of the stores.
@Suite(.timeLimit(.minutes(5))) struct StoreDuplicationTests {
    @Test func noTextStandsInBothStores() throws {
        let texts = try Self.inBoth { Self.texts(in: $0) }
        #expect(texts.isEmpty, "move it to PushStore")
    }

    @Test func noNumberStandsInBothStores() throws {
        let numbers = try Self.inBoth(Self.numbers)
        #expect(numbers.isEmpty, "move it to PushStore")
    }

    @Test(arguments: [
        ("let mostTags = 60", ["mostTags = 60"]), ("    private static let page: Int = 2_000", ["page = 2_000"]),
        ("static let pause = Duration.seconds(5)", ["pause = Duration.seconds(5)"]),
        ("select id from push where lane = $1 limit 250", ["limit 250"]), ("select id from push limit 1", []),
        ("var count = 0", []), ("let count = 0", []), ("let end = start + 60", []),
        ("where moves < 2 and retired_at is null", ["moves < 2"]), ("where d.moves <> 20", ["moves <> 20"]),
        ("if self.rows.count >= 100 {", ["rows.count >= 100"]), ("rows.count == 1", []), ("row.count > 0", []),
        ("order by created_at desc offset 19", ["offset 19"]), ("limit 5", ["limit 5"]), ("limit -1 offset 0", []),
        ("let (pages, pause) = (60, 5)", ["pages = 60", "pause = 5"]), ("(pages, rows) = (pages, [])", []),
        ("Int64(device) >> 16", ["device) >> 16"]), ("{ $0 << 8 | UInt32($1) }", []), ("=> -> 5", []),
    ])
    func constantsCountInEachScope(source: String, numbers: [String]) {
        #expect(Self.numbers(in: source) == numbers)
    }

    /// Places of the stores that make a case of an outcome, with the reason.
    private static let allowed = [
        "SQLiteStore+leases.swift: granted": "the statement that begins a lease checks the facts itself",
        "PostgreSQLStore+leases.swift: granted": "the statement that begins a lease checks the facts itself",
        "Leasing.swift: send": "without a minimum interval, the store reads no facts for `Pace`",
        "SQLiteStore+reading.swift: read": "a mark that is stored, and the mark that `markRead` sets",
        "SQLiteStore+reading.swift: unread": "a mark that is stored",
        "PostgreSQLStore+reading.swift: read": "a mark that is stored, and the mark that `markRead` sets",
        "PostgreSQLStore+reading.swift: unread": "a mark that is stored",
    ]

    @Test func onlyPushStoreMakesOutcomes() throws {
        let outcomes = Self.outcomes(in: try Repository.files(under: "Sources/PushStore", ending: ".swift").map(\.text))
        for name in ["PostOutcome", "RegisterOutcome", "UserChange", "Decision"] { #expect(outcomes[name] != nil) }
        let made = try ["Sources/PushSQLite", "Sources/PushPostgreSQL"].flatMap { folder in
            try Repository.files(under: folder, ending: ".swift").flatMap { file in
                Self.made(outcomes, in: file.text).map { "\(file.name): \($0)" }
            }
        }
        #expect(Set(made).subtracting(Self.allowed.keys).sorted() == [], "decide it in PushStore")
        #expect(Set(Self.allowed.keys).subtracting(made).sorted() == [], "remove it from `allowed`")
    }

    @Test(arguments: [
        ("if account.tags.count > mostTags { return .missing }", ["missing"]),
        ("return UserChange.missing", ["missing"]),
        ("isLast ? .lastAdministrator : outcome", ["lastAdministrator"]), ("found ?? .missing", ["missing"]),
        ("guard outcome == .missing else { return outcome }", []), ("case .missing, .lastAdministrator: return", []),
        ("if case .missing = outcome { return }", []), ("return ServerState.missing", []), ("entry.missing", []),
        ("// return .missing", []), ("return .missing(name)", []),
        ("private enum Step {\n    case missing\n}\n.missing", []),
    ])
    func aMadeCaseIsFound(source: String, cases: [String]) {
        let declared = "package enum UserChange: Sendable {\n    case missing\n    case lastAdministrator\n}\n"
        let deciding = "package func deletion(of account: StoredAccount?) -> UserChange {\n"
        #expect(Self.made(Self.outcomes(in: [declared, deciding]), in: source) == cases)
    }

    /// If a statement changes, a number silently selects another column, but a name does not.
    @Test(arguments: ["Sources/PushSQLite", "Sources/PushPostgreSQL"])
    func noStoreReadsAColumnByItsNumber(folder: String) throws {
        let rooms = [folder, "Sources/PushStore/Rows", "Sources/SQLite", "Sources/PostgreSQL"]
        let sources = try rooms.flatMap { try Repository.files(under: $0, ending: ".swift").map(\.text) }
        let accessors = Set(sources.flatMap(Self.accessors))
        #expect(accessors.isSuperset(of: ["integer", "optionalText", "date"]))
        let reads = try Repository.files(under: folder, ending: ".swift").flatMap { file in
            Self.readsByNumber(in: file.text, accessors).map { "\(file.name): \($0)" }
        }
        #expect(reads == [], "read the column by its name")
    }

    @Test(arguments: [
        ("try $0.integer(0)", [".integer(0)"]), ("rows[0].text(12)", [".text(12)"]),
        ("row.value(1, kind)", [".value(1,"]), ("try row.integer()", []), (#"row.text("lane")"#, []),
        ("row.integer(Column.number)", []), ("[.integer(0), StoredValue.text(1)]", []), ("row.prefix(100)", []),
    ])
    func aReadByANumberIsFound(source: String, reads: [String]) {
        #expect(Self.readsByNumber(in: source, ["integer", "text", "value"]) == reads)
    }

    @Test(arguments: [
        (#"throw StoreError.failed(reason: "there is no row \(id)")"#, true),
        (#"query("select a from b where c")"#, false),
        (#"case .app: "n.app is not null""#, false), (#"return "\(first) \(second)""#, false),
        (#""device_by_user""#, false), (#"reason: "and the limit = 60""#, true),
        (#"of: "key \(number)""#, true), (#""table \(name)""#, true), (#""\(name).id""#, false),
    ])
    func onlyTextsThatAreNoSQLCount(source: String, isText: Bool) {
        #expect(Self.texts(in: source).isEmpty == !isText)
    }

    // MARK: - Private

    /// The cases of the enumerations that decisions return, by the enumerations' names. A case
    /// with values ends in `(`.
    private static func outcomes(in sources: [String]) -> [String: Set<String>] {
        let returned = sources.flatMap { source in
            source.matches(
                of: /(?m)^ *(?:\)|package ).*(?:->|\bvar \w+:) \(?(?:outcome: )?(?:\w+\.)?(\w+)\b[^\n]*\{/
            ).map { String($0.1) }
        }
        let cases = sources.reduce(into: [:]) { $0.merge(Self.cases(in: $1)) { $0.union($1) } }
        return cases.filter { returned.contains($0.key) }
    }

    /// The cases of the enumerations that a source declares, except errors.
    private static func cases(in source: String) -> [String: Set<String>] {
        let enums = source.matches(of: /(?ms)^( *)(?:\w+ )*enum (\w+)(?!\w*: Error)\b.*?\n\1\}/)
        let found = enums.map { found in
            let lines = found.0.matches(of: /(?m)^\s*case ((?!let\b|nil\b)\w.*)$/)
            let names = lines.flatMap { line in
                line.1.replacing(/\([^()]*\)/, with: "(").split(separator: ",").compactMap {
                    $0.firstMatch(of: /\w+\(?/).map { String($0.0) }
                }
            }
            return (String(found.2), Set(names))
        }
        return Dictionary(found) { $0.union($1) }
    }

    /// The names of the cases of `outcomes` that a source makes. Comparisons and patterns make
    /// none, and neither do enumerations of the source itself.
    private static func made(_ outcomes: [String: Set<String>], in source: String) -> [String] {
        let all = outcomes.values.reduce(Set()) { $0.union($1) }
        let own = Self.cases(in: source).values.reduce(Set()) { $0.union($1) }
        return source.split(separator: "\n").filter { !$0.contains(/^\s*\/\//) }.flatMap { line in
            line.matches(of: /\.(\w+\(?)/).compactMap { found -> String? in
                let name = String(found.1)
                guard all.contains(name) else { return nil }
                let before = line[..<found.range.lowerBound]
                let type = before.firstMatch(of: /\w+$/).map { String($0.0) }
                let cases = type.map { outcomes[$0] ?? [] } ?? all.subtracting(own)
                let isNoValue = before.contains(/(?:[=!]=|\bon:) *\w*$|[)\]?}!">\\]$|\bcase\b[^:=]*$/)
                return cases.contains(name) && !isNoValue ? name.replacing("(", with: "") : nil
            }
        }
    }

    /// The names of the functions that read a column.
    private static func accessors(in source: String) -> [String] {
        source.matches(of: /func (\w+)\(_ column: (?:Int32|some ColumnReference)\b/).map { String($0.1) }
    }

    /// The reads of a column by a literal number. A case of an enumeration, such as `.integer(0)`,
    /// is no read.
    private static func readsByNumber(in source: String, _ accessors: Set<String>) -> [String] {
        source.matches(of: /\.(\w+)\(\d+[,)]/).compactMap { found in
            let before = source[..<found.range.lowerBound].suffix(60)
            let receiver = before.firstMatch(of: /(?:\b[a-z]\w*|\$\d|[)\]])$/)
            return receiver != nil && accessors.contains(String(found.1)) ? String(found.0) : nil
        }
    }

    /// The constants whose value is a number, except the zeros with which counts begin. Also
    /// numbers above 1 in comparisons with a name, in shifts of it, and in SQL's `limit` and
    /// `offset`. Zeros and ones there are mostly counts of rows. A table's alias does not matter.
    private static func numbers(in source: String) -> [String] {
        let source = source.replacing(/\((\w+(?:, \w+)+)\) = \(([^()\n]+)\)/) { tuple in
            zip(tuple.1.split(separator: ", "), tuple.2.split(separator: ", ")).map { "let \($0) = \($1)" }
                .joined(separator: "\n")
        }
        let constants = source.matches(
            of: /(?m)\b(?:let|var) (\w+)(?:: [\w.]+)? = ((?:\w*\.\w+\()?([\d_.]*[1-9][\d_.]*)\)?)\s*$/
        ).map { "\($0.1) = \($0.2)" }
        let uses = source.matches(
            of: /(?:\b[a-z]\.|self\.)?((?:[a-z][\w.]*\)* (?:[<>=!]=|[<>]{1,2})|\blimit|\boffset) (?:[1-9][\d_]+|[2-9]))/
        )
        return constants + uses.map { String($0.1) }
    }

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
        let sql = /^\s*(?:select|insert|update|delete from|case|where|order by|with \w+ as)\b|^\(|is (?:not )?null/
        return (long + short).filter { text in
            // A value in the text counts as a word of one letter.
            let words = text.replacing(/\\\((?:[^()]|\([^()]*\))*\)/, with: "x").split(whereSeparator: \.isWhitespace)
            return words.count > 1 && words.contains { $0.contains(/[a-z]{3}/) } && !text.contains(sql)
        }
    }
}
