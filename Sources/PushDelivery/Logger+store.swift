internal import Logging
internal import PushStore

extension Logger {
    /// Logs the failure of a background task. Logs a full disk, a damaged file and a database out
    /// of use only at the level `debug`, since the store itself logs them.
    func report(_ message: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        let level: Logger.Level =
            switch error {
            case StoreError.full, StoreError.damagedFile, StoreError.unusable: .debug
            case StoreError.unavailable, StoreError.unknownOutcome: .debug
            default: .error
            }
        self.log(level: level, message, metadata: metadata.merging(["error": "\(error)"]) { own, _ in own })
    }
}
