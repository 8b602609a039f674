/// Validates and parses the handles of a sender's devices, at registration and for each push.
package protocol HandleRule: Sendable {
    /// A parsed handle.
    associatedtype Address

    /// The form in which clients write a handle.
    var form: HandleForm { get }

    /// Whether somebody else can know or guess a handle.
    ///
    /// A handle that cannot be guessed belongs to the user who registers it. A handle that can be
    /// guessed is registered once the user has returned a code that was pushed to it. There is no
    /// default: each sender decides.
    var isGuessable: Bool { get }

    /// Parses a handle. Throws `HandleFlaw` if this sender cannot push to it.
    func address(_ handle: String) throws(HandleFlaw) -> Address

    /// The lane within the platform that carries the pushes to an address, named after its push
    /// service; `nil` if the platform has one lane.
    func part(at address: Address) -> String?
}

extension HandleRule {
    package var form: HandleForm { .text }

    package func part(at address: Address) -> String? { nil }

    /// The lane within the platform that carries the pushes to a handle. Throws `HandleFlaw` if
    /// this sender cannot push to it.
    package func part(of handle: DeviceHandle) throws(HandleFlaw) -> String? {
        self.part(at: try self.address(handle.value))
    }
}

/// The form in which clients write the handles of a platform.
package enum HandleForm: Sendable {
    case text
    /// A JSON object, or its text. An object has many spellings; `canonical` returns the one that
    /// the server compares.
    case object(canonical: @Sendable (String) throws(HandleFlaw) -> DeviceHandle)
    /// Clients send no handle: the registration id is the handle of a device with an event stream.
    case registrationID
}

/// The reason why a text is not a valid handle, worded as the end of a sentence about it.
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
