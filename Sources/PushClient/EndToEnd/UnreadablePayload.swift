/// Why an end-to-end payload, or a device's key, cannot be used. `docs/end-to-end.md` explains the
/// words.
public enum UnreadablePayload: String, Error, Sendable, CaseIterable {
    /// The payload is not encrypted end to end.
    case notEncrypted
    /// It has another version or suite than this library knows; update the app.
    case unsupported
    /// A part does not have the form that the specification requires.
    case malformed
    /// The app does not trust its sender.
    case unknownSender
    /// It was encrypted for other devices, for example before this one had its keys.
    case notForThisDevice
    /// It is older than any payload that the server keeps, or from the future.
    case expired
    /// A decryption fails: somebody has changed or swapped a part.
    case unreadable
    /// Its message came with another notification before: somebody delivers it twice.
    case replayed
    /// A device's key has a wrong signature.
    case signature
    /// A device's key belongs to another account.
    case account
}
