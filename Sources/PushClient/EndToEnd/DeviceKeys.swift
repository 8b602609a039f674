internal import Bytes
public import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The keys of this device for end-to-end encryption.
///
/// Make them once for each account, and keep ``stored`` in the keychain, where the app's extension
/// also finds it (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`). Then give the public keys
/// to the server with ``PushClient/setDeviceKey(_:)``.
public struct DeviceKeys: Sendable {
    /// The public keys.
    public let key: DeviceKey
    /// The private and the public keys, for the keychain.
    public let stored: Data
    private let signing: P256.Signing.PrivateKey
    private let agreement: P256.KeyAgreement.PrivateKey

    /// Makes keys for a device of the account, whose identifier a ``Session`` has.
    public init(account: String, now: Date = Date()) throws {
        let keys = [P256.Signing.PrivateKey(), P256.Signing.PrivateKey()]
        let points = keys.map { Base64.url.text(of: $0.publicKey.x963Representation) }
        let time = String(Int(now.timeIntervalSince1970.rounded(.down)))
        let body = (["sealpost-key", "1", account] + points + [time]).joined(separator: ".")
        let signature = try keys[0].signature(for: Array("sealpost-own\n\(body)".utf8)).rawRepresentation
        let text = "\(body).\(Base64.url.text(of: signature))."
        try self.init(stored: keys[0].rawRepresentation + keys[1].rawRepresentation + Data(text.utf8))
    }

    /// Reads the keys of an earlier start. Throws if they are not those of `stored`.
    public init(stored: Data) throws {
        guard stored.count > 64 else { throw UnreadablePayload.malformed }
        self.stored = stored
        self.signing = try P256.Signing.PrivateKey(rawRepresentation: stored.prefix(32))
        self.agreement = try P256.KeyAgreement.PrivateKey(rawRepresentation: stored.dropFirst(32).prefix(32))
        self.key = try DeviceKey(String(decoding: stored.dropFirst(64), as: UTF8.self))
    }

    /// The text of another device of the account with this device's approval.
    ///
    /// First a person compares the fingerprint on both screens. Then store the text at the server:
    /// senders encrypt for the device from their next message on.
    public func approve(_ other: DeviceKey) throws -> String {
        guard other.account == self.key.account else { throw UnreadablePayload.account }
        let signature = try self.signing.signature(for: Array("sealpost-approve\n\(other.body)".utf8))
        return other.text + self.key.id + Base64.url.text(of: signature.rawRepresentation)
    }

    /// Opens an end-to-end payload, without a check whether its message came before:
    /// ``PushClient/openPayload(of:with:from:)`` does both.
    ///
    /// - Parameters:
    ///   - payload: The payload as fetched.
    ///   - senders: The public keys of the backends that the app trusts, 87 characters each.
    ///   - app: The app of the notification, if the server sends for several.
    ///   - now: The present time.
    public func open(
        _ payload: String,
        from senders: [String],
        app: String = "default",
        now: Date = Date()
    ) throws(UnreadablePayload) -> OpenedPayload {
        try OpenedPayload(payload, for: self.key, self.agreement, from: senders, app: app, now: now)
    }
}
