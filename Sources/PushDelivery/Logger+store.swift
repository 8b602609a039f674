internal import Logging
internal import PushStore

extension Logger {
    /// Logs what a background task could not do; a full disk in detail only, for the store has told of it once.
    func report(_ message: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        let level: Logger.Level = if case StoreError.full = error { .debug } else { .error }
        self.log(level: level, message, metadata: metadata.merging(["error": "\(error)"]) { own, _ in own })
    }
}
