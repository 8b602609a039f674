/// Validates and parses the handles of the devices to which a push sender sends. The server does
/// both when a device registers, and for each push.
package protocol HandleRule: Sendable {
    /// The type of a parsed handle.
    associatedtype Address

    /// The form in which clients write a handle.
    var form: HandleForm { get }

    /// Whether somebody else can know or guess a handle.
    ///
    /// A handle that cannot be guessed belongs to the user who registers it. A handle that can be
    /// guessed is registered only after the user has returned a code that the server has pushed to
    /// this handle. This property has no default, so that each sender must decide.
    var isGuessable: Bool { get }

    /// Parses a handle. Throws `HandleFlaw` if this sender cannot push to it.
    func address(_ handle: String) throws(HandleFlaw) -> Address

    /// The part of the platform whose lane (queue of pushes) carries the pushes to an address. The
    /// part has the name of the address's push service; `nil` if the platform has only one lane.
    func part(at address: Address) -> String?
}

extension HandleRule {
    package var form: HandleForm { .text }

    package func part(at address: Address) -> String? { nil }

    /// The part of the platform whose lane (queue of pushes) carries the pushes to a handle.
    /// Throws `HandleFlaw` if this sender cannot push to it.
    package func part(of handle: DeviceHandle) throws(HandleFlaw) -> String? {
        self.part(at: try self.address(handle.value))
    }
}

/// The form in which clients write the handles of a platform.
package enum HandleForm: Sendable {
    case text
    /// A JSON object, or a string with the text of one. The same object can be written in many
    /// ways; `canonical` returns the text that the server compares.
    case object(canonical: @Sendable (String) throws(HandleFlaw) -> DeviceHandle)
    /// Clients send no handle: these devices get pushes over an event stream, and the registration
    /// id is their handle.
    case registrationID
}

/// The reason why a text is not a valid handle. It is worded as the end of a sentence that begins
/// with the handle.
package enum HandleFlaw: Error, Sendable, Hashable, CustomStringConvertible {
    /// No device can have this handle.
    case malformed(String)
    /// The operator does not allow the host in the handle.
    case notAllowed(String)

    package var description: String {
        switch self {
        case .malformed(let why), .notAllowed(let why): why
        }
    }
}
