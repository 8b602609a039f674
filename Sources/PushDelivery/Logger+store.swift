internal import Logging
internal import PushStore

extension Logger {
    /// Logs the failure of a background task. Logs a full disk only at the level `debug`, since
    /// the store itself has already logged it.
    func report(_ message: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        let level: Logger.Level = if case StoreError.full = error { .debug } else { .error }
        self.log(level: level, message, metadata: metadata.merging(["error": "\(error)"]) { own, _ in own })
    }
}
