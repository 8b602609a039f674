import Foundation
import HTTPSignatures
import PushAPI

/// A request and its answer, without the framing of HTTP.
struct VectorExchange: Sendable {
    /// How the body ended.
    enum End: String, Sendable {
        /// The last byte has arrived.
        case complete
        /// The connection was lost before the last byte.
        case cut
    }

    var method: String
    var path: String
    var query: String?
    var token: String
    /// The nonce that the request wants in the signature.
    var nonce: String?
    /// The value of the request's `If-None-Match`.
    var condition: String?
    var requestBody: String?

    var status: Int
    var fields: [(name: String, value: String)]
    var body: [UInt8]
    var end = End.complete

    subscript(_ name: String) -> String? {
        get { self.fields.first { $0.name.lowercased() == name.lowercased() }?.value }
        set {
            self.fields.removeAll { $0.name.lowercased() == name.lowercased() }
            if let newValue { self.fields.append((name, newValue)) }
        }
    }

    var request: JSONValue {
        var members: [VectorMember] = [
            ("method", .string(self.method)), ("path", .string(self.path)), ("query", .optional(self.query)),
            ("token", .string(self.token)), ("condition", .optional(self.condition)),
        ]
        if let nonce { members.append(("nonce", .string(nonce))) }
        if let requestBody { members.append(("body", .string(requestBody))) }
        return .object(members.map { .init($0.0, $0.1) })
    }

    var answer: JSONValue {
        let fields = self.fields.map { JSONValue.array([.string($0.name), .string($0.value)]) }
        let text = String(validating: self.body, as: UTF8.self)
        return .members(
            ("status", .number(self.status)),
            ("fields", .array(fields)),
            text.map { ("body", .string($0)) } ?? ("bodyBase64", .string(Data(self.body).base64EncodedString())),
            ("end", .string(self.end.rawValue))
        )
    }

    /// Builds the text that a client signs and verifies, by the rules of RFC 9421, without the
    /// server's code.
    func base(key: SigningKey, created: Date, isReversed: Bool = false) throws -> SignatureBase {
        let validator = self.status == 304 ? "etag" : "content-digest"
        let account = self["Sealpost-Account"].map { [(SignatureComponent("sealpost-account"), $0)] } ?? []
        let components: [(component: SignatureComponent, value: String)] =
            [
                (SignatureComponent("@status"), String(self.status)),
                (SignatureComponent(validator), self[validator] ?? ""),
                (SignatureComponent("mytoken", isOfRequest: true), self.token),
                (SignatureComponent("@method", isOfRequest: true), self.method),
                (SignatureComponent("@path", isOfRequest: true), self.path),
                (SignatureComponent("@query", isOfRequest: true), "?\(self.query ?? "")"),
            ] + account
        return try SignatureBase(
            isReversed ? components.reversed() : components,
            created: Int64(created.timeIntervalSince1970),
            keyID: key.id,
            algorithm: "ed25519",
            nonce: self.nonce
        )
    }

    /// Signs the exchange in its current form, and replaces the earlier signature. Without
    /// `Sealpost-Account`, it signs like a server of the previous version.
    mutating func sign(_ body: String? = nil, created: Date = VectorKeys.now) throws {
        if let body { self.body = Array(body.utf8) }
        if self.status != 304 { self["Content-Digest"] = ContentDigest.field(of: self.body) }
        let key = try VectorKeys.signing()
        let base = try self.base(key: key, created: created)
        self["Signature-Input"] = "sig=\(base.parameters)"
        self["Signature"] = "sig=:\(try key.signature(over: base).base64EncodedString()):"
    }
}
