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
    private let keys: PrivateKeys

    /// Makes keys for a device of the account, whose identifier a ``Session`` has.
    public init(account: String, now: Date = Date()) throws {
        let signing = P256.Signing.PrivateKey().rawRepresentation
        let agreement = P256.Signing.PrivateKey().rawRepresentation
        try self.init(.inMemory(signing: signing, agreement: agreement), account: account, now: now)
    }

    #if canImport(Security)
        /// Makes keys in the device's Secure Enclave, which no program can read. On a device
        /// without a Secure Enclave, it makes them as ``init(account:now:)`` does.
        ///
        /// ``stored`` then has the keys as the Secure Enclave has encrypted them for itself.
        public init(inSecureEnclaveFor account: String, now: Date = Date()) throws {
            guard let keys = try PrivateKeys.inSecureEnclave() else {
                try self.init(account: account, now: now)
                return
            }
            try self.init(keys, account: account, now: now)
        }
    #endif

    private init(_ keys: PrivateKeys, account: String, now: Date) throws {
        let signing = try keys.signing()
        let points = [signing.publicKey.x963Representation, try keys.agreement().publicKey.x963Representation]
        let time = String(Int(now.timeIntervalSince1970.rounded(.down)))
        let body = (["sealpost-key", "1", account] + points.map { Base64.url.text(of: $0) } + [time])
            .joined(separator: ".")
        let signature = try signing.signature(for: Array("sealpost-own\n\(body)".utf8)).rawRepresentation
        try self.init(stored: keys.stored(with: "\(body).\(Base64.url.text(of: signature))."))
    }

    /// Reads the keys that ``stored`` had at an earlier start of the app. Throws if the data is
    /// not such keys.
    public init(stored: Data) throws {
        let (keys, text) = try PrivateKeys.read(stored)
        self.stored = stored
        self.keys = keys
        self.key = try DeviceKey(text)
        // This finds unreadable keys now, not at the first payload.
        _ = (try keys.signing(), try keys.agreement())
    }

    /// Returns the text of another device of the account, with this device's approval added.
    ///
    /// First a person compares the fingerprint on both screens. Then store the text at the server:
    /// senders encrypt for the device from their next message on.
    public func approve(_ other: DeviceKey) throws -> String {
        guard other.account == self.key.account else { throw UnreadablePayload.account }
        let signature = try self.keys.signing().signature(for: Array("sealpost-approve\n\(other.body)".utf8))
        return other.text + self.key.id + Base64.url.text(of: signature.rawRepresentation)
    }

    /// Opens an end-to-end payload. It does not check whether the message came before, as
    /// ``PushClient/openPayload(of:with:from:)`` does.
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
        // The keys could be read when this value was made.
        guard let agreement = try? self.keys.agreement() else { throw .unreadable }
        return try OpenedPayload(payload, for: self.key, agreement, from: senders, app: app, now: now)
    }
}
