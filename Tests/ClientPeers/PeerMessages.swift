package import Foundation
package import HTTPSignatures
package import PushAPI

/// A request as it arrived.
package struct PeerRequest: Sendable {
    package var method: String
    /// The target with its query.
    package var target: String
    /// The fields by name in lower case.
    package let fields: [String: String]
    package let body: String

    package var path: String { String(self.target.prefix { $0 != "?" }) }
    package var query: String { String(self.target.dropFirst(self.path.count + 1)) }

    /// The parts of the request that a server signs.
    package func signed(nonce: String?) -> SignedRequest {
        SignedRequest(method: self.method, path: self.path, query: self.query, token: self.token, nonce: nonce)
    }

    /// Returns the request with another nonce, as a proxy may send it.
    package func asking(_ nonce: String) -> PeerRequest {
        let mine = ResponseVerifier.acceptSignature(coverage: .account, nonce: nonce)
        let fields = self.fields.merging(["accept-signature": mine]) { $1 }
        return PeerRequest(method: self.method, target: self.target, fields: fields, body: self.body)
    }

    package init(method: String, target: String, fields: [String: String], body: String) {
        (self.method, self.target, self.fields, self.body) = (method, target, fields, body)
    }

    /// Returns the request that a proxy sends to the server in place of this one. Both have the
    /// same `MyToken`.
    package func exchanged(_ method: String? = nil, for target: String) -> PeerRequest {
        var other = self
        (other.method, other.target) = (method ?? self.method, target)
        return other
    }

    /// Reads a request from the beginning of the bytes, and removes it from them; `nil` while the
    /// request is incomplete.
    package init?(from bytes: inout [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let body = text[end.upperBound...]
        let length = fields["content-length"].flatMap { Int($0) } ?? 0
        guard body.utf8.count >= length else { return nil }
        self.method = String(words[0])
        self.target = String(words[1])
        self.fields = fields
        self.body = String(decoding: body.utf8.prefix(length), as: UTF8.self)
        bytes.removeFirst(text[..<end.upperBound].utf8.count + length)
    }

    package var token: String { self.fields["mytoken"] ?? "" }
    package var echo: String { (try? MyToken(text: self.token))?.echo ?? "" }
}

/// An answer whose parts a test can damage.
package struct PeerAnswer: Sendable {
    package enum Framing: Sendable {
        case length
        /// A `Content-Length` that does not match the body.
        case wrongLength(Int)
        case chunked(isEnded: Bool)
        case untilTheEnd
    }

    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    package var framing = Framing.length
    package var hangsUp = false

    package init(status: Int = 200, fields: [(name: String, value: String)] = [], body: String = "") {
        self.status = status
        self.fields = fields
        self.body = Array(body.utf8)
    }

    /// The account id for all requests with credentials, unless a test gives another.
    package static let account = "YWxpY2Uncy1vd24tYWNjdA"

    /// Creates the server's own answer, with the echo of `MyToken`. It is signed if there is a key
    /// and the request asks for a signature. Without an account, the answer is like that of a
    /// server of the previous version. With `created`, it is like that of a server that knows no
    /// nonces.
    package init(
        to request: PeerRequest,
        status: Int = 200,
        fields: [(name: String, value: String)] = [],
        body: String = "",
        key: SigningKey? = nil,
        account: String? = Self.account,
        coverage: SignatureCoverage? = nil,
        created: Date? = nil
    ) {
        self.init(status: status, fields: fields, body: body)
        if !body.isEmpty { self["Content-Type"] = self["Content-Type"] ?? "application/json; charset=utf-8" }
        self["MyToken"] = request.echo
        self["Sealpost-Account"] = account.map { status == 401 ? "none" : $0 }
        guard let key, let field = request.fields["accept-signature"],
            let asked = try? SignatureRequest(acceptSignature: [field])
        else { return }
        self["Cache-Control"] = "no-store"
        if status != 304 { self["Content-Digest"] = ContentDigest.field(of: self.body) }
        guard
            let signature = try? ResponseSignature(
                status: status,
                validator: self[status == 304 ? "ETag" : "Content-Digest"] ?? "",
                account: self["Sealpost-Account"],
                request: request.signed(nonce: created == nil ? asked.nonce : nil),
                coverage: coverage ?? (account == nil ? .exchange : asked.coverage),
                label: asked.label,
                key: key,
                created: created ?? Date()
            )
        else { return }
        self["Signature-Input"] = signature.input
        self["Signature"] = signature.signature
    }

    /// Creates an answer with the problem of this code.
    package init(
        to request: PeerRequest,
        _ code: ProblemCode,
        fields: [(name: String, value: String)] = [],
        key: SigningKey? = nil
    ) {
        var fields = fields + [(name: "Content-Type", value: Problem.contentType)]
        if code.status == 401 {
            fields.append((name: "WWW-Authenticate", value: #"Basic realm="sealpost", charset="UTF-8""#))
        }
        self.init(
            to: request,
            status: code.status,
            fields: fields,
            body: String(decoding: Problem(code).json.bytes, as: UTF8.self),
            key: key
        )
    }

    /// The value of a field, whose name may be in any case. Setting `nil` removes the field.
    package subscript(_ name: String) -> String? {
        get { self.fields.first { $0.name.lowercased() == name.lowercased() }?.value }
        set {
            self.fields.removeAll { $0.name.lowercased() == name.lowercased() }
            if let newValue { self.fields.append((name, newValue)) }
        }
    }

    package var encoded: [UInt8] {
        var head = "HTTP/1.1 \(self.status) Something\r\n"
        for field in self.fields { head += "\(field.name): \(field.value)\r\n" }
        guard ![204, 304].contains(self.status) else { return Array("\(head)\r\n".utf8) }
        switch self.framing {
        case .length: return Array("\(head)Content-Length: \(self.body.count)\r\n\r\n".utf8) + self.body
        case .wrongLength(let count): return Array("\(head)Content-Length: \(count)\r\n\r\n".utf8) + self.body
        case .untilTheEnd: return Array("\(head)Connection: close\r\n\r\n".utf8) + self.body
        case .chunked(let isEnded):
            let size = String(self.body.count, radix: 16)
            return Array("\(head)Transfer-Encoding: chunked\r\n\r\n\(size)\r\n".utf8) + self.body
                + Array("\r\n\(isEnded ? "0\r\n\r\n" : "")".utf8)
        }
    }
}
