package import PushCore

/// The address of a device that holds an event stream open: the device's registration id. The rule
/// does not check the id's format, since the server has issued the id.
package struct StreamHandleRule: HandleRule {
    package init() {}

    package var form: HandleForm { .registrationID }

    /// Nobody needs to prove that the handle is theirs: it is the registration id, which the
    /// server has issued to the account that registers it.
    package var isGuessable: Bool { false }

    package func address(_ handle: String) throws(HandleFlaw) -> DeviceHandle {
        guard let device = DeviceHandle(handle) else { throw .malformed("it must be a registration id") }
        return device
    }
}
