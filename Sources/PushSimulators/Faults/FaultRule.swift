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
        /// The rule applies to every n-th request or connection that meets the rule's conditions
        /// on device and time.
        case every(Int)
        /// The rule applies with this probability, from 0 to 1. The same seed gives the same
        /// choices.
        case chance(Double, seed: UInt64 = 1)
        /// The rule applies to the first n requests or connections that meet the rule's other
        /// conditions, and then no more.
        case next(Int)
        /// The rule applies to requests for this device. The text is a part of the device's token
        /// or of the path of its channel.
        case device(String)
        /// The rule applies between two times, which are counted from the moment at which the
        /// rules were set.
        case between(Duration, Duration)
    }

    /// The fault of the requests or connections to which the rule applies.
    package var fault: Fault
    /// The conditions; all must hold.
    package var conditions: [Condition]

    /// Makes a rule from a fault and the conditions of the rule.
    package init(_ fault: Fault, when conditions: [Condition] = []) {
        self.fault = fault
        self.conditions = conditions
    }
}
