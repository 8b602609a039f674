/// Whether the device or the server is at fault if a provider does not know a device.
package enum Blame: Sendable, Hashable {
    /// The device is at fault, since the provider accepts pushes to other devices.
    case device
    /// The server is at fault: the provider refuses the devices of several users, and accepts no
    /// push.
    case us
    /// No answer shows yet who is at fault.
    case unclear
}
