/// Why an end-to-end payload, or a device's key, cannot be used. `docs/end-to-end.md` explains the
/// words.
public enum UnreadablePayload: String, Error, Sendable, CaseIterable {
    /// The payload is not encrypted end to end.
    case notEncrypted
    /// The payload has another version or suite than this library knows; update the app.
    case unsupported
    /// A part does not have the form that the specification requires.
    case malformed
    /// The app does not trust the payload's sender.
    case unknownSender
    /// The payload was encrypted for other devices, for example before this device had its keys.
    case notForThisDevice
    /// The payload is older than any payload that the server keeps, or its time is in the future.
    case expired
    /// A decryption fails: somebody has changed or swapped a part.
    case unreadable
    /// The message came with another notification before: somebody delivers it twice.
    case replayed
    /// A device's key has a wrong signature.
    case signature
    /// A device's key belongs to another account.
    case account
}
