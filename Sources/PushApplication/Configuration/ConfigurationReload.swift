import Logging
import PushCore
import SocketHTTP
import Synchronization

/// Reads the configuration again, and applies the keys that need no restart to the running
/// application.
///
/// It first checks the whole new configuration, including keys that need a restart. If the server
/// could not start with this configuration, the running application keeps the old one.
package final class ConfigurationReload: Sendable {
    /// Keys, or beginnings of keys, that take effect without a restart.
    static let reloaded = ["quotas", "server.limits", "log.level", "log.requests"]

    private let started: Configuration
    private let threshold: LogThreshold
    private let load: @Sendable () throws -> Configuration
    /// The configuration in force. A lock protects this property, because several tasks may reload
    /// at the same time.
    private let current: Mutex<Configuration>

    package init(
        _ started: Configuration,
        threshold: LogThreshold,
        load: @escaping @Sendable () throws -> Configuration
    ) {
        self.started = started
        self.threshold = threshold
        self.load = load
        self.current = Mutex(started)
    }

    /// Applies the changes, and logs the changed keys and those of them that need a restart. If
    /// the new configuration cannot be used, logs the reason and changes nothing.
    func reload(in application: Application) {
        let logger = application.parts.logger
        let new: Configuration
        do {
            new = try self.load()
            try new.refuseRisks()
        } catch {
            logger.error(
                "configuration reload failed; the old configuration stays in use",
                metadata: ["error": "\(error)"]
            )
            return
        }
        let changed = self.current.withLock { current in
            self.use(new, instead: current, in: application)
            defer { current = new }
            return current.values.keysThatDiffer(from: new.values).filter(Self.isReloaded)
        }
        if !changed.isEmpty {
            logger.notice("configuration reloaded", metadata: ["changed": "\(changed.joined(separator: " "))"])
        }
        self.threshold.level = self.current.withLock { $0.level }
        let waiting = self.started.values.keysThatDiffer(from: new.values).filter { !Self.isReloaded($0) }
        if !waiting.isEmpty {
            logger.warning(
                "changed configuration takes effect only after a restart",
                metadata: ["keys": "\(waiting.joined(separator: " "))"]
            )
        }
    }

    private func use(_ new: Configuration, instead old: Configuration, in application: Application) {
        application.use(quotas: new.quotas, limits: new.limits)
        // Until the line about the reload is written, the lower level applies: the line appears if
        // either level admits it.
        self.threshold.level = min(old.level, new.level)
        application.parts.links.traces.sample(new.loggedRequests)
        guard new.limits.maxConnections > old.limits.maxConnections else { return }
        DescriptorLimit.raise(for: new.limits.maxConnections, logger: application.parts.logger)
    }

    static func isReloaded(_ key: String) -> Bool {
        self.reloaded.contains { key == $0 || key.hasPrefix("\($0).") }
    }
}

extension [String: String] {
    /// The keys whose values differ, sorted by name.
    fileprivate func keysThatDiffer(from other: Self) -> [String] {
        Set(self.keys).union(other.keys).filter { self[$0] != other[$0] }.sorted()
    }
}
