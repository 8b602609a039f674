package import Foundation

extension Duration {
    /// The duration in seconds, for arithmetic with dates.
    package var timeInterval: TimeInterval {
        TimeInterval(self.components.seconds) + TimeInterval(self.components.attoseconds) / 1e18
    }
}
