import ArgumentParser
import Foundation
import Glibc
import PushAPI
import PushApplication

/// The form of a command's result: for people, or for scripts.
struct OutputOptions: ParsableArguments {
    @Flag(
        help: """
            Print JSON: a document, or for a list one on each line. An error is a problem in JSON on standard error.
            """
    )
    var json = false

    /// Prints the result: `json` for scripts, `line` for people.
    func show(_ json: JSONValue, _ line: @autoclosure () -> String) {
        self.show(json, [line()])
    }

    /// Prints the result: `json` for scripts, `lines` for people.
    func show(_ json: JSONValue, _ lines: @autoclosure () -> [String]) {
        for line in self.json ? [String(decoding: json.bytes, as: UTF8.self)] : lines() { say(line) }
    }

    /// Makes the printer of a list: a table on a terminal, and elsewhere a line for each entry, as
    /// in earlier versions.
    func list(_ columns: [String]) -> ListPrinter {
        ListPrinter(self.json ? .json : isatty(STDOUT_FILENO) == 1 ? .table : .lines, columns: columns, print: say)
    }
}

/// Prints the entries of a list.
struct ListPrinter {
    enum Form {
        /// Columns under their names; all cells of a column have the same width.
        case table
        case lines
        case json
    }

    /// The number of rows that a table collects before it prints them as one page. All rows of a
    /// page have the same column widths.
    private static let pageSize = 500

    private let form: Form
    private let print: (String) -> Void
    private var table: Table

    init(_ form: Form, columns: [String], print: @escaping (String) -> Void) {
        self.form = form
        self.print = print
        self.table = Table(columns)
    }

    /// Prints an entry, or keeps it until `end()` or until the page is full. `cells` are the
    /// table's cells.
    mutating func add(_ entry: JSONValue, cells: @autoclosure () -> [String], line: @autoclosure () -> String) {
        switch self.form {
        case .json: self.print(String(decoding: entry.bytes, as: UTF8.self))
        case .lines: self.print(line())
        case .table:
            self.table.rows.append(cells())
            if self.table.rows.count == Self.pageSize { self.end() }
        }
    }

    /// Prints the kept entries. An empty table is the names of its columns.
    mutating func end() {
        guard case .table = self.form else { return }
        for line in self.table.takeLines() { self.print(line) }
    }
}

/// Rows of cells, aligned under the names of their columns.
struct Table {
    private let columns: [String]
    private var widths: [Int]
    private var hasHead = false
    var rows: [[String]] = []

    init(_ columns: [String]) {
        self.columns = columns
        self.widths = columns.map(\.count)
    }

    /// Removes the rows that were added so far, and returns their lines. The first result begins
    /// with a line with the names of the columns.
    mutating func takeLines() -> [String] {
        for row in self.rows {
            for (column, cell) in row.enumerated() { self.widths[column] = max(self.widths[column], cell.count) }
        }
        let lines = (self.hasHead ? [] : [self.columns]) + self.rows
        self.hasHead = true
        self.rows = []
        return lines.map { self.line(of: $0) }
    }

    private func line(of cells: [String]) -> String {
        let padded = cells.enumerated().map { column, cell in
            // The last cell gets no blanks, because people would copy them with the text.
            column == cells.count - 1 ? cell : cell + String(repeating: " ", count: self.widths[column] - cell.count)
        }
        return padded.joined(separator: "  ")
    }
}
