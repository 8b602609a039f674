import ArgumentParser
import PushCore

extension Int {
    /// The number of seconds that an option such as `--expires-in 90m` means. Throws
    /// `ValidationError` for any other text.
    static func seconds(ofOption text: String) throws -> Int {
        guard let seconds = Int(secondsOf: text) else {
            throw ValidationError("it must be a number of seconds, or have a unit: 30s, 5m, 12h, 7d")
        }
        return seconds
    }
}
