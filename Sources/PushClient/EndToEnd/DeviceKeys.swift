internal import Bytes
public import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The keys of this device for end-to-end encryption.
///
/// Create the keys once for each account, and store ``stored`` in the keychain, where the app's
/// extension also finds it (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`). Then set
/// ``PushClient/Options/deviceKey`` of the account's clients to ``key``.
public struct DeviceKeys: Sendable {
    /// The public keys.
    public let key: DeviceKey
    /// The private and the public keys, for the keychain.
    public let stored: Data
    private let keys: PrivateKeys

    /// Creates keys for a device of an account. `account` is the account id, as in
    /// ``Session/account``.
    public init(account: String, now: Date = Date()) throws {
        let signing = P256.Signing.PrivateKey().rawRepresentation
        let agreement = P256.Signing.PrivateKey().rawRepresentation
        try self.init(.inMemory(signing: signing, agreement: agreement), account: account, now: now)
    }

    #if canImport(Security)
        /// Creates keys in the device's Secure Enclave, where no program can read them. On a
        /// device without a Secure Enclave, this initializer creates the keys as
        /// ``init(account:now:)`` does.
        ///
        /// ``stored`` then contains the private keys in a form that only this Secure Enclave can
        /// decrypt.
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

    /// Reads the keys from data that the app has stored, the value of ``stored``. Throws if the
    /// data does not contain keys.
    public init(stored: Data) throws {
        let (keys, text) = try PrivateKeys.read(stored)
        self.stored = stored
        self.keys = keys
        self.key = try DeviceKey(text)
        // Without this line, unreadable keys would cause an error only at the first payload.
        _ = (try keys.signing(), try keys.agreement())
    }

    /// Returns the ``DeviceKey/text`` of another device of the account, with this device's
    /// approval added.
    ///
    /// Before this call, a person must have compared the fingerprint on both screens. After this
    /// call, pass the result to ``PushClient/setDeviceKey(_:of:)``. Senders then encrypt their
    /// next messages for the other device, too.
    public func approve(_ other: DeviceKey) throws -> String {
        guard other.account == self.key.account else { throw UnreadablePayload.account }
        let signature = try self.keys.signing().signature(for: Array("sealpost-approve\n\(other.body)".utf8))
        return other.text + self.key.id + Base64.url.text(of: signature.rawRepresentation)
    }

    /// Opens an end-to-end payload. Unlike ``PushClient/openPayload(of:with:from:)``, this
    /// function does not check whether the message has arrived before.
    ///
    /// - Parameters:
    ///   - payload: The payload of the fetched notification.
    ///   - senders: The public keys of the backends that the app trusts, 87 characters each.
    ///   - app: The name of the notification's app, if the server sends for several apps.
    ///   - now: The present time.
    public func open(
        _ payload: String,
        from senders: [String],
        app: String = "default",
        now: Date = Date()
    ) throws(UnreadablePayload) -> OpenedPayload {
        // `init` has read the same key, so this does not fail.
        guard let agreement = try? self.keys.agreement() else { throw .unreadable }
        return try OpenedPayload(payload, for: self.key, agreement, from: senders, app: app, now: now)
    }
}
