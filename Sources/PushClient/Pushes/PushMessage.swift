internal import Bytes
public import Foundation
internal import PushAPI

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The content of a push: the id of a notification and, on a shared device, a hint that identifies
/// the account.
///
/// A push passes through the networks of providers, so it contains no secret, and no text to show.
///
/// ```swift
/// guard let push = PushMessage(userInfo: request.content.userInfo),
///     let client = PushClient.recipient(of: push, among: clients)
/// else { return }
/// let item = try await client.notification(push.id)
/// ```
public struct PushMessage: Sendable, Hashable {
    /// The id to pass to ``PushClient/notification(_:)``.
    public let id: Int64
    /// A value by which an account's client recognizes the account's pushes; for everybody else it
    /// looks random. `nil` if the registration was made without
    /// ``PushClient/Options/isDeviceShared``.
    public let accountHint: String?

    /// Creates a push from an id and a hint that the app has received in another form.
    public init(id: Int64, accountHint: String? = nil) {
        self.id = id
        self.accountHint = accountHint
    }

    /// Reads the `userInfo` of a remote notification; `nil` if it has no `secureId`, as in another
    /// service's push.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let text = userInfo["secureId"] as? String, let id = Self.id(text) else { return nil }
        self.init(id: id, accountHint: userInfo["accountHint"] as? String)
    }

    /// Reads JSON, such as a Web Push or the `data` of FCM; `nil` if it has no `secureId`.
    public init?(json: Data) {
        // Other data is not a push of Sealpost.
        guard let value = try? JSONValue(reading: Array(json)), let text = value["secureId"]?.text,
            let id = Self.id(text)
        else { return nil }
        self.init(id: id, accountHint: value["accountHint"]?.text)
    }

    /// Accepts only digits: `Int64` would accept a sign, too.
    private static func id(_ text: String) -> Int64? {
        text.utf8.allSatisfy(\.isDigit) ? Int64(text) : nil
    }
}

extension PushClient {
    /// Whether a push is for this client's account.
    ///
    /// A push with a hint is for the account from whose registration the hint was made. A push
    /// without a hint is for any account that does not share its device. For a push with a hint,
    /// the call reads the stored registration. If the client does not know whose data the store
    /// has, its fetch asks the server.
    public func isRecipient(of push: PushMessage) -> Bool {
        guard let hint = push.accountHint else { return !self.isDeviceShared }
        if case .missing = self.credentials.kind { return false }
        return self.records.registration.map { Self.accountHint(of: push.id, registration: $0.id) == hint } ?? false
    }

    /// The client of the account that a push is for. If the result is `nil`, show nothing and
    /// fetch nothing.
    ///
    /// A push without a hint comes from a registration made before accounts shared the device. If
    /// `clients` has only one client, the push is for that client.
    public static func recipient(of push: PushMessage, among clients: [PushClient]) -> PushClient? {
        if push.accountHint == nil { return clients.count == 1 ? clients.first : nil }
        return clients.first { $0.isRecipient(of: push) }
    }

    /// The `accountHint` of a push: an HMAC whose key is the registration id. No push provider
    /// learns that id.
    package static func accountHint(of notification: Int64, registration: String) -> String {
        let key = SymmetricKey(data: Array(registration.utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Array("hint \(notification)".utf8), using: key)
        return Base64.url.text(of: Array(code).prefix(8))
    }
}
