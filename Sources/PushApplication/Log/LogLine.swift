import Foundation
import Logging

/// An event of the log, which becomes exactly one line, whatever values it has.
///
/// Clients choose some values, at least in part. So some characters are escaped as in JSON (RFC
/// 8259 section 7): those that are invisible, end a line in some programs, or change the writing
/// direction. These characters are control characters (including those of C1 and of terminal
/// escape sequences), format characters, and the separators of lines and paragraphs.
struct LogLine {
    enum Format: Sendable {
        case text
        case json
    }

    let time: Date
    let level: Logger.Level
    let message: String
    /// The fields, in their order in the line.
    let fields: [(name: String, value: String)]

    func text(as format: Format) -> String {
        switch format {
        case .text: self.text
        case .json: self.json
        }
    }

    /// The approximate number of bytes that the line takes in memory.
    var size: Int {
        self.fields.reduce(128 + self.message.utf8.count) { $0 + 32 + $1.name.utf8.count + $1.value.utf8.count }
    }

    /// The line in the format `text`: fields as `name=value` after the message. A value is in
    /// quotes if it could otherwise be read as more than one value.
    var text: String {
        let head = "time=\(self.time.formatted(.iso8601)) level=\(self.level.rawValue) \(Self.escaped(self.message))"
        return self.fields.reduce(head) { line, field in
            line
                + " \(Self.escaped(field.name))=\(Self.isOneWord(field.value) ? field.value : Self.quoted(field.value))"
        }
    }

    /// The line in the format `json`: an object of strings and numbers.
    var json: String {
        let head = [
            ("time", self.time.formatted(.iso8601)), ("level", self.level.rawValue), ("message", self.message),
        ]
        let members = (head + self.fields).map { name, value in
            Self.quoted(name) + ":" + (Self.isNumber(value, in: name) ? value : Self.quoted(value))
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    // MARK: - Private

    /// The fields with counts, durations and statuses, which are numbers in JSON. All other values
    /// are strings, so the type of a field depends on its name only. Ids are strings, too, since
    /// some programs round large numbers.
    private static let numbers: Set = [
        "allowed", "busy", "bytes", "count", "failures", "limit", "maxConnections", "milliseconds", "needed",
        "payloads", "pending", "rejected", "renewed", "seconds", "sinceStart", "spans", "status", "throttled",
        "tokens", "unfinished", "values", "wrong",
    ]

    /// Whether the value is a number in JSON's form; Swift also reads `+1` and `nan`.
    private static func isNumber(_ value: String, in name: String) -> Bool {
        guard self.numbers.contains(name) else { return false }
        return Int(value)?.description == value || Double(value).map { $0.isFinite && "\($0)" == value } == true
    }

    private static func isOneWord(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                !self.isInvisible(scalar) && !self.endsQuotation(scalar) && !scalar.properties.isWhitespace
                    && scalar != "="
            }
    }

    private static func quoted(_ text: String) -> String {
        "\"\(self.escaped(text))\""
    }

    /// The text with escapes for all characters that are invisible or could end a line or a
    /// quotation.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if self.endsQuotation(scalar) { result += "\\" }
            self.append(scalar, to: &result)
        }
    }

    /// The text with escapes, in the form that commands print. Quotation marks stay, and so do the
    /// tabs between columns. A JSON text stays valid JSON.
    static func printable(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "\t" { result += "\t" } else { self.append(scalar, to: &result) }
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to result: inout String) {
        guard self.isInvisible(scalar) else { return result.unicodeScalars.append(scalar) }
        for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
            let digits = String(unit, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    private static func endsQuotation(_ scalar: Unicode.Scalar) -> Bool { scalar == "\"" || scalar == "\\" }

    /// Whether the character is invisible, ends a line, or changes the direction of writing.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
