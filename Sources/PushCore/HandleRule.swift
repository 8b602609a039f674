/// What handles the devices of a sender may have: registration asks it, and each push goes by what it makes of a handle.
package protocol HandleRule: Sendable {
    /// What the sender makes of a handle.
    associatedtype Address

    /// How clients write a handle.
    var form: HandleForm { get }

    /// Reads a handle. Throws why it is none to which this sender can push.
    func address(_ handle: String) throws(HandleFlaw) -> Address

    /// The part of the platform through whose lane the pushes to an address go; `nil`: the platform has one lane.
    func part(at address: Address) -> String?
}

extension HandleRule {
    package var form: HandleForm { .text }

    package func part(at address: Address) -> String? { nil }

    /// The part of the platform that a handle is of. Throws what is wrong with it.
    package func part(of handle: DeviceHandle) throws(HandleFlaw) -> String? {
        self.part(at: try self.address(handle.value))
    }
}

/// How clients write the handles of a platform.
package enum HandleForm: Sendable {
    case text
    /// A JSON object, or its text, which may be written in many ways: `canonical` gives the one by which it is compared.
    case object(canonical: @Sendable (String) throws(HandleFlaw) -> DeviceHandle)
    /// Not at all: the registration id is the handle of a device that holds an event stream open.
    case registrationID
}

/// Why a text is no handle, as the end of a sentence about it.
package enum HandleFlaw: Error, Sendable, Hashable, CustomStringConvertible {
    /// It can be no device's.
    case malformed(String)
    /// The operator does not allow the place that it names.
    case notAllowed(String)

    package var description: String {
        switch self {
        case .malformed(let why), .notAllowed(let why): why
        }
    }
}
