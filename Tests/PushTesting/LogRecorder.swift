package import Logging
internal import Synchronization

/// Keeps log lines, so that tests can check which lines are present or absent.
package struct LogRecorder: LogHandler {
    private final class Kept: Sendable {
        let lines = Mutex<[String]>([])
    }

    private let kept = Kept()

    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level

    package init(logLevel: Logger.Level = .trace) {
        self.logLevel = logLevel
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    /// The level, message and metadata of each line, with the metadata sorted by name.
    package var lines: [String] { self.kept.lines.withLock { $0 } }

    package func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        let line = "\(event.level) \(event.message)\(fields.joined())"
        self.kept.lines.withLock { $0.append(line) }
    }
}
