/// The blame for a device that a provider does not know: the device's, or ours.
package enum Blame: Sendable, Hashable {
    /// The device: others are accepted.
    case device
    /// Us: the devices of several users are refused, and none is accepted.
    case us
    /// Not known yet.
    case unclear
}
