import Foundation
import Logging

/// Writes each event as one line to standard error, as text or as JSON; no value can begin a new line or a new field.
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
        let line = LogLine(
            time: Date(),
            level: event.level,
            message: event.message.description,
            fields: metadata.map { ($0.key, $0.value.description) }
        )
        let text =
            switch self.format {
            case .text: line.text
            case .json: line.json
            }
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
