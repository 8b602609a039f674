/// The party at fault if a provider does not know a device: the device or the server.
package enum Blame: Sendable, Hashable {
    /// The device is at fault, since the provider accepts pushes to others.
    case device
    /// The server is at fault: the provider refuses the devices of several users, and accepts
    /// none.
    case us
    /// No answer shows yet who is at fault.
    case unclear
}
