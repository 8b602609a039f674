/// A fault, and the requests or connections that it affects.
///
/// ```swift
/// let rules = [
///     FaultRule(.answer(status: 503, retryAfter: .seconds(5)), when: [.every(10)]),
///     try FaultRule("device abcd next 1: goaway reason Shutdown"),
/// ]
/// ```
/// All conditions must hold; a rule without conditions always applies.
package struct FaultRule: Sendable, Hashable {
    /// A condition of a rule.
    package enum Condition: Sendable, Hashable {
        /// Every n-th request or connection that meets the conditions on device and time.
        case every(Int)
        /// With this probability, from 0 to 1; the same seed gives the same choices.
        case chance(Double, seed: UInt64 = 1)
        /// The first n requests or connections that meet the other conditions, and none
        /// afterwards.
        case next(Int)
        /// Requests for this device: its token, or the path of its channel, or a part of either.
        case device(String)
        /// From one time to another, counted from the time at which the rules were set.
        case between(Duration, Duration)
    }

    /// The fault.
    package var fault: Fault
    /// The conditions; all must hold.
    package var conditions: [Condition]

    /// A rule with a fault and its conditions.
    package init(_ fault: Fault, when conditions: [Condition] = []) {
        self.fault = fault
        self.conditions = conditions
    }
}
