import Logging
import Synchronization

/// Keeps what is logged, so that tests can look for what must not be there.
struct LogRecorder: LogHandler {
    private final class Kept: Sendable {
        let lines = Mutex<[String]>([])
    }

    private let kept = Kept()

    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    var lines: [String] { self.kept.lines.withLock { $0 } }

    func log(event: LogEvent) {
        let line = "\(event.level) \(event.message) \(event.metadata ?? [:])"
        self.kept.lines.withLock { $0.append(line) }
    }
}

/// Counts calls.
final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { self.value.withLock { $0 } }

    func increment() {
        self.value.withLock { $0 += 1 }
    }
}
