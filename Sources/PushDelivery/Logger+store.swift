internal import Logging
internal import PushStore

extension Logger {
    /// Logs the failure of a background task. Logs a full disk, a damaged file and an unusable
    /// database only at the level `debug`, since the store itself has already logged them.
    func report(_ message: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        let level: Logger.Level =
            switch error {
            case StoreError.full, StoreError.damagedFile, StoreError.unusable: .debug
            default: .error
            }
        self.log(level: level, message, metadata: metadata.merging(["error": "\(error)"]) { own, _ in own })
    }
}
