package import Logging
internal import Synchronization

/// Keeps what is logged, so that tests can look for what must be there, or must not.
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

    /// Level, message and metadata of each line, the latter in the order of their names.
    package var lines: [String] { self.kept.lines.withLock { $0 } }

    package func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        let line = "\(event.level) \(event.message)\(fields.joined())"
        self.kept.lines.withLock { $0.append(line) }
    }
}
