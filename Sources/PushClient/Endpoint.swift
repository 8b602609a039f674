internal import Foundation
internal import HTTPSignatures
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// The URL of the API, and the fields of each request to it.
struct Endpoint: Sendable {
    /// The URL without its final slash. A path in it, as behind a proxy that serves several
    /// servers, precedes the paths of the API.
    private let base: URLComponents
    /// The key whose signature requests ask for; `nil` if answers are unsigned.
    private let keyID: String?

    /// Returns `nil` if the URL is not an HTTP URL with a host.
    init?(_ server: URL, signatureKeys: [VerificationKey]) {
        guard var base = URLComponents(url: server, resolvingAgainstBaseURL: true), base.host?.isEmpty == false,
            ["http", "https"].contains(base.scheme?.lowercased())
        else { return nil }
        while base.percentEncodedPath.hasSuffix("/") { base.percentEncodedPath.removeLast() }
        (base.query, base.fragment, base.user, base.password) = (nil, nil, nil, nil)
        self.base = base
        self.keyID = signatureKeys.first?.id
    }

    /// The reason why the client must not send anything to this URL; `nil` if it may.
    func fault(_ options: PushClient.Options) -> PushClientError? {
        if options.signatures == .pinned([]) { return .noSignatureKeys }
        guard self.base.scheme?.lowercased() == "http", !options.trustsLoopback else { return nil }
        let isPinned = options.signatures != .unsigned || options.serverTrust != .system
        return isPinned || !Self.isThisMachine(self.base.host ?? "") ? .insecureServer : nil
    }

    private static func isThisMachine(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.first == 127 && !parts.contains(nil)
    }

    /// The server's part in the names of cached values.
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
            // The reader of the stream sets a limit for silence.
            urlRequest.timeoutInterval = 7 * 86400
        }
        if let keyID {
            // Until the account is known, the signature may leave the account out, for servers
            // without account ids. If the server signs without the nonce, its clock and the
            // device's must agree.
            let accepted = ResponseVerifier.acceptSignature(
                keyID: keyID,
                coverage: .account,
                otherwise: account == nil ? .exchange : nil,
                nonce: request.nonce
            )
            urlRequest.setValue(accepted, forHTTPHeaderField: "Accept-Signature")
            // The digest covers the body as the server sent it: proxies must not compress it.
            urlRequest.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        if let body = request.body {
            urlRequest.setValue("application/json", forHTTPHeaderField: "Content-Type")
            urlRequest.httpBody = Data(body.bytes)
        }
        return urlRequest
    }
}
