internal import Foundation
internal import HTTPSignatures
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Where the API is, and what each request to it carries.
struct Endpoint: Sendable {
    /// Without the slash at its end; a path in it, as of a proxy that serves several, stands before those of the API.
    private let base: URLComponents
    private let acceptSignature: String?

    /// `nil` if the URL is not one of HTTP with a host.
    init?(_ server: URL, signatureKeys: [VerificationKey]) {
        guard var base = URLComponents(url: server, resolvingAgainstBaseURL: true), base.host?.isEmpty == false,
            ["http", "https"].contains(base.scheme?.lowercased())
        else { return nil }
        while base.percentEncodedPath.hasSuffix("/") { base.percentEncodedPath.removeLast() }
        (base.query, base.fragment, base.user, base.password) = (nil, nil, nil, nil)
        self.base = base
        self.acceptSignature = signatureKeys.first.map { ResponseVerifier.acceptSignature(keyID: $0.id) }
    }

    /// The server's part in the names of kept values.
    var name: String { self.base.string ?? "" }

    func urlRequest(
        for request: APIRequest,
        _ token: MyToken,
        authorization: String?
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
            // Its silence is bounded by those who read it.
            urlRequest.timeoutInterval = 7 * 86400
        }
        if let acceptSignature {
            urlRequest.setValue(acceptSignature, forHTTPHeaderField: "Accept-Signature")
            // The digest is over the body as the server sent it: proxies must not compress it.
            urlRequest.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        if let body = request.body {
            urlRequest.setValue("application/json", forHTTPHeaderField: "Content-Type")
            urlRequest.httpBody = Data(body.bytes)
        }
        return urlRequest
    }
}
