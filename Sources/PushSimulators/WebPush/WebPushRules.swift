internal import Bytes
package import Foundation

/// The reason why a push service refuses a message.
package struct WebPushRefusal: Error, Hashable {
    package let status: Int
    package let reason: String

    init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }
}

/// The rules by which a push service, and then the browser, accepts or refuses a message.
///
/// The rules are stricter than those of any real service. Urgency and Topic must match the grammar
/// exactly, and the answer tells the sender if the browser could not decrypt the message.
package struct WebPushRules: Sendable {
    struct Subscriber: Sendable {
        let key: SigningKey
        let point: [UInt8]
        let secret: [UInt8]
        /// The sender's key with which the browser subscribed, in base64url; `nil` if the service
        /// accepts pushes with any key.
        let serverKey: String?
        var isRetired = false

        func open(_ body: [UInt8]) -> [UInt8]? {
            EncryptedMessage(body)?.open(key: self.key, point: self.point, secret: self.secret)
        }
    }

    /// The subscribers by the path of their endpoint.
    var subscribers: [String: Subscriber] = [:]
    private let verifier: VAPIDVerifier

    /// The size of a body that every push service accepts, RFC 8030 section 7.2.
    private static let bodyLimit = 4096

    package init(audience: String) {
        self.verifier = VAPIDVerifier(audience: audience)
    }

    /// Checks a message; throws the refusal with which the service answers.
    package func check(_ request: SimulatedRequest, now: Date) throws(WebPushRefusal) {
        guard request.method == "POST" else { throw WebPushRefusal(405, "MethodNotAllowed") }
        guard let subscriber = self.subscribers[request.path] else { throw WebPushRefusal(404, "UnknownSubscription") }
        let signer = try self.verifier.signer(of: request.header("authorization"), now: now)
        if let serverKey = subscriber.serverKey, signer != serverKey {
            throw WebPushRefusal(403, "VapidPkHashMismatch")
        }
        try Self.checkHeaders(request)
        guard request.body.count <= Self.bodyLimit else { throw WebPushRefusal(413, "PayloadTooLarge") }
        guard subscriber.open(request.body) != nil else { throw WebPushRefusal(400, "BadEncryption") }
        if subscriber.isRetired { throw WebPushRefusal(410, "Unregistered") }
    }

    private static func checkHeaders(_ request: SimulatedRequest) throws(WebPushRefusal) {
        guard let life = request.header("ttl"), !life.isEmpty, life.utf8.allSatisfy(\.isDigit) else {
            throw WebPushRefusal(400, "BadTtl")
        }
        if let urgency = request.header("urgency"), !["very-low", "low", "normal", "high"].contains(urgency) {
            throw WebPushRefusal(400, "BadUrgency")
        }
        if let topic = request.header("topic"),
            !(1...32).contains(topic.utf8.count) || !topic.utf8.allSatisfy(Self.isTopic)
        {
            throw WebPushRefusal(400, "BadTopic")
        }
        let codings = request.headers.filter { $0.isNamed("content-encoding") }.map(\.value)
        // The fields `Encryption` and `Crypto-Key` belong to an obsolete draft.
        guard
            codings == ["aes128gcm"], request.header("encryption") == nil, request.header("crypto-key") == nil
        else { throw WebPushRefusal(400, "BadEncoding") }
    }

    private static func isTopic(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "-_".utf8.contains(byte)
    }
}
