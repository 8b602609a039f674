/// Which requests, or connections, meet a fault.
///
/// ```swift
/// let rules = [
///     FaultRule(.answer(status: 503, retryAfter: .seconds(5)), when: [.every(10)]),
///     try FaultRule("device abcd next 1: goaway reason Shutdown"),
/// ]
/// ```
/// All conditions must hold; a rule without one always does.
package struct FaultRule: Sendable, Hashable {
    /// What must be so.
    package enum Condition: Sendable, Hashable {
        /// Every n-th of those that the other conditions leave.
        case every(Int)
        /// With this probability, from 0 to 1; the same ones for the same seed.
        case chance(Double, seed: UInt64 = 1)
        /// The first so many of those that the other conditions leave; then never again.
        case next(Int)
        /// Requests for this device: its token, or the path of its channel, or a part of either.
        case device(String)
        /// From one time to another, counted from when the rules were set.
        case between(Duration, Duration)
    }

    /// What happens.
    package var fault: Fault
    /// When it does.
    package var conditions: [Condition]

    /// A rule of these parts.
    package init(_ fault: Fault, when conditions: [Condition] = []) {
        self.fault = fault
        self.conditions = conditions
    }
}
