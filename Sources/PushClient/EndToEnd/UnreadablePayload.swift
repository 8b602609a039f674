/// Why an end-to-end payload, or a device's public keys, cannot be used. `docs/end-to-end.md`
/// explains the terms.
public enum UnreadablePayload: String, Error, Sendable, CaseIterable {
    /// The payload is not encrypted end to end.
    case notEncrypted
    /// The payload has a version or cipher suite that this library does not know; update the app.
    case unsupported
    /// A part of the payload or key does not have the form that the specification requires.
    case malformed
    /// The app does not trust the payload's sender.
    case unknownSender
    /// The payload was encrypted for other devices, for example before this device had its keys.
    case notForThisDevice
    /// The payload is older than any payload that the server keeps, or its time is in the future.
    case expired
    /// A part cannot be decrypted: somebody has changed or swapped parts of the payload.
    case unreadable
    /// The message has already arrived with another notification: somebody has delivered it twice.
    case replayed
    /// The text of a device's public keys has a wrong signature.
    case signature
    /// A device's public keys belong to another account.
    case account
}
