package import Foundation

extension Duration {
    /// In seconds, as dates are counted with.
    package var timeInterval: TimeInterval {
        TimeInterval(self.components.seconds) + TimeInterval(self.components.attoseconds) / 1e18
    }
}
