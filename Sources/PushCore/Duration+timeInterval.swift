package import Foundation

extension Duration {
    /// The duration in seconds, for arithmetic with dates.
    package var timeInterval: TimeInterval {
        TimeInterval(self.components.seconds) + TimeInterval(self.components.attoseconds) / 1e18
    }
    /// The duration in milliseconds, with one decimal, for the log.
    package var milliseconds: Double { (self.timeInterval * 10_000).rounded() / 10 }
}
