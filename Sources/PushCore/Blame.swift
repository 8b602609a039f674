/// Who is to blame that a provider does not know a device, which may be the device or us.
package enum Blame: Sendable, Hashable {
    /// The device: others are accepted.
    case device
    /// We are: the devices of several users are refused, and none is accepted.
    case us
    /// It cannot be told yet.
    case unclear
}
