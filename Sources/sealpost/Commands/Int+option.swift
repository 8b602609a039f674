import ArgumentParser
import PushCore

extension Int {
    /// The seconds of an option such as `--expires-in 90m`. Throws `ValidationError`.
    static func seconds(ofOption text: String) throws -> Int {
        guard let seconds = Int(secondsOf: text) else {
            throw ValidationError("it must be a number of seconds, or have a unit: 30s, 5m, 12h, 7d")
        }
        return seconds
    }
}
