internal import Bytes
internal import Foundation
internal import HTTPSignatures
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// The URL of a server's API. This type also creates the URL requests with their header fields.
struct Endpoint: Sendable {
    /// The server's URL without its final slash. If the URL has a path, for example behind a proxy
    /// for several servers, that path precedes the paths of the API.
    private let base: URLComponents
    /// The id of the key with which the server should sign its answers; `nil` if answers are
    /// unsigned.
    private let keyID: String?

    /// Returns `nil` if the URL is not an HTTP URL with a host, or has a part that the client
    /// would have to ignore: a user, a password, a query or a fragment.
    init?(_ server: URL, signatureKeys: [VerificationKey]) {
        // Reading `host` would need ICU's data, which a static executable may lack.
        guard var base = URLComponents(url: server, resolvingAgainstBaseURL: true), base.encodedHost?.isEmpty == false,
            ["http", "https"].contains(base.scheme?.lowercased()),
            base.percentEncodedUser == nil, base.percentEncodedPassword == nil,
            base.percentEncodedQuery == nil, base.percentEncodedFragment == nil
        else { return nil }
        while base.percentEncodedPath.hasSuffix("/") { base.percentEncodedPath.removeLast() }
        self.base = base
        self.keyID = signatureKeys.first?.id
    }

    /// The reason why the client must not send anything to this URL; `nil` if the client may send
    /// requests.
    func fault(_ options: PushClient.Options) -> PushClientError? {
        if let app = options.app?.utf8 {
            let isName = app.allSatisfy { $0.isLowercaseLetter || $0.isDigit || "-_".utf8.contains($0) }
            guard isName, (1...64).contains(app.count) else {
                return .invalidValue("app: the name is not 1 to 64 characters of a-z 0-9 - _")
            }
        }
        if options.timeout <= .zero { return .invalidValue("timeout: it is not positive") }
        if options.answerLimit <= 0 { return .invalidValue("answerLimit: it is not positive") }
        if options.signatureTolerance < .zero { return .invalidValue("signatureTolerance: it is negative") }
        if options.signatures == .pinned([]) { return .noSignatureKeys }
        guard self.base.scheme?.lowercased() == "http", !options.trustsLoopback else { return nil }
        let isPinned = options.signatures != .unsigned || options.serverTrust != .system
        return isPinned || !Self.isThisMachine(self.base.encodedHost ?? "") ? .insecureServer : nil
    }

    private static func isThisMachine(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.first == 127 && !parts.contains(nil)
    }

    /// The names of the fields that the client or the platform sets, in lower case.
    private static let ownFields: Set = [
        "accept", "accept-encoding", "accept-signature", "authorization", "connection", "content-length",
        "content-type", "expect", "host", "idempotency-key", "if-none-match", "keep-alive", "last-event-id",
        "mytoken", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Adds the app's fields to a request, except those that the client or the platform sets.
    static func add(_ fields: [String: String], to request: inout URLRequest) throws(PushClientError) {
        for (name, value) in fields {
            // A field's name is a token (RFC 9110 section 5.6.2).
            let isToken = name.utf8.allSatisfy { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
            guard isToken, !name.isEmpty, value.utf8.allSatisfy({ $0.isPrintable || $0 == 0x09 }) else {
                throw .invalidValue("headers: the field \(name.debugDescription) is malformed")
            }
            if !self.ownFields.contains(name.lowercased()) { request.setValue(value, forHTTPHeaderField: name) }
        }
    }

    /// The URL as a text, for the names of cached values.
    var name: String { self.base.string ?? "" }

    func urlRequest(
        for request: APIRequest,
        _ token: MyToken,
        authorization: String?,
        account: String?
    ) throws(PushClientError) -> URLRequest {
        var components = self.base
        components.percentEncodedPath += request.path
        components.percentEncodedQuery = request.percentEncodedQuery
        guard let url = components.url else { throw .invalidServer }
        var urlRequest = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        urlRequest.httpMethod = request.method
        urlRequest.httpShouldHandleCookies = false
        urlRequest.setValue(token.description, forHTTPHeaderField: MyToken.fieldName)
        urlRequest.setValue(authorization, forHTTPHeaderField: "Authorization")
        urlRequest.setValue(request.tag, forHTTPHeaderField: "If-None-Match")
        let key = request.idempotencyKey.map { "\"\($0.uuidString)\"" }
        urlRequest.setValue(key, forHTTPHeaderField: "Idempotency-Key")
        if request.isStream {
            urlRequest.setValue("text/event-stream", forHTTPHeaderField: "Accept")
            urlRequest.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
            urlRequest.setValue(request.lastEvent, forHTTPHeaderField: "Last-Event-ID")
            // A stream may last for days. Its reader limits the time between two pieces.
            urlRequest.timeoutInterval = 7 * 86400
        }
        if let keyID {
            // A server without account ids cannot sign the account. So until the client knows its
            // account id, it also accepts a signature that does not cover the account. If the
            // server signs without the nonce, the clocks of server and device must agree.
            let accepted = ResponseVerifier.acceptSignature(
                keyID: keyID,
                coverage: .account,
                otherwise: account == nil ? .exchange : nil,
                nonce: request.nonce
            )
            urlRequest.setValue(accepted, forHTTPHeaderField: "Accept-Signature")
            // Proxies must not compress the body: the signature covers the digest of the body that
            // the server sent.
            urlRequest.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        if let body = request.body {
            urlRequest.setValue("application/json", forHTTPHeaderField: "Content-Type")
            urlRequest.httpBody = Data(body.bytes)
        }
        return urlRequest
    }
}
