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

    /// What stands for the server in the names of what is kept.
    var name: String { self.base.string ?? "" }

    func request(_ question: Question, _ token: MyToken, authorization: String?) throws(PushClientError) -> URLRequest {
        var components = self.base
        components.percentEncodedPath += question.path
        if !question.query.isEmpty {
            // Everything but letters and digits: a handle may be a URL itself, and a plus stays one.
            let parts = question.query.map { "\($0.name)=\(Self.escaped($0.value ?? ""))" }
            components.percentEncodedQuery = parts.joined(separator: "&")
        }
        guard let url = components.url else { throw .invalidServer }
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        request.httpMethod = question.method
        request.httpShouldHandleCookies = false
        request.setValue(token.description, forHTTPHeaderField: MyToken.fieldName)
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        request.setValue(question.tag, forHTTPHeaderField: "If-None-Match")
        request.setValue(question.idempotencyKey.map { "\"\($0.uuidString)\"" }, forHTTPHeaderField: "Idempotency-Key")
        if let acceptSignature {
            request.setValue(acceptSignature, forHTTPHeaderField: "Accept-Signature")
            // The digest is over what was sent; a proxy that compresses it is asked not to.
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        if let body = question.body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(body.bytes)
        }
        return request
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: Self.unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
    )
}
