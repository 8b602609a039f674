import Foundation
import Logging

/// Writes each event as one line to standard error, as text or as JSON; control characters cannot begin a new line.
struct LineLogHandler: LogHandler {
    enum Format: Sendable {
        case text
        case json
    }

    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let format: Format

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        var fields = [
            ("time", Date().formatted(.iso8601)), ("level", event.level.rawValue),
            ("message", event.message.description),
        ]
        fields += metadata.map { ($0.key, $0.value.description) }
        let line =
            switch self.format {
            case .text: fields.map { $0.0 == "message" ? $0.1 : "\($0.0)=\($0.1)" }.joined(separator: " ")
            case .json: "{" + fields.map { "\(Self.quoted($0.0)):\(Self.quoted($0.1))" }.joined(separator: ",") + "}"
            }
        FileHandle.standardError.write(Data((Self.oneLine(line) + "\n").utf8))
    }

    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
