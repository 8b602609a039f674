/// The blame for a device that a provider does not know: the device's, or the server's.
package enum Blame: Sendable, Hashable {
    /// The device is to blame: others are accepted.
    case device
    /// The server is to blame: the devices of several users are refused, and none is accepted.
    case us
    /// No answer shows yet who is to blame.
    case unclear
}
