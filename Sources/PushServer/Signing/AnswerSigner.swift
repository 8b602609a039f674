internal import Foundation
internal import HTTPSignatures
internal import HTTPTypes
internal import Logging
internal import PushAPI
internal import SocketHTTP

/// Signs answers for clients that ask for it (RFC 9421). The signature covers status, content and
/// the request's own `MyToken`. If the client asks for it, the signature also covers the request's
/// method, path and query, and the caller's account. The signature has the nonce that the client
/// asks for.
struct AnswerSigner: Sendable {
    /// The value of `Sealpost-Account` if the server does not know the caller.
    private static let nobody = "none"

    let keys: SigningKeys
    let logger: Logger
    let now: @Sendable () -> Date

    /// Throws an `unsupported-signature` problem if the server cannot make the signature that the
    /// request's `Accept-Signature` asks for. The server calls this before any work, so that a
    /// request whose answer it cannot sign changes nothing.
    @inline(never)
    func check(_ head: RequestHead) throws(Problem) {
        do throws(SignatureFailure) {
            _ = try SignatureRequest(acceptSignature: head.values(.acceptSignature))
        } catch {
            throw Problem(.unsupportedSignature, "\(error)")
        }
        guard head.count(of: .myToken) > 0 else {
            throw Problem(.unsupportedSignature, "a request for a signed answer needs the field MyToken")
        }
    }

    /// Adds the digest of an answer before it is signed. The pool for long bodies calls it, so
    /// that no event loop is blocked.
    func addDigest(to response: inout Response, for head: RequestHead) {
        guard head.count(of: .acceptSignature) > 0, head.method == .get, response.status == .ok else { return }
        response.fields.append(.contentDigest, ContentDigest.field(of: response.body))
    }

    /// The signed answer to a request that asks for a signature. Signed parts may not change after
    /// this.
    ///
    /// The answer to an invalid request for a signature stays unsigned, and so does a streaming
    /// body, such as an event stream's.
    @inline(never)
    func signed(_ response: Response, for head: RequestHead) -> Response {
        let tokens = head.values(.myToken)
        guard
            response.streamingBody == nil, tokens.count == 1,
            // An invalid field throws here; the server has answered it with a problem.
            let request = try? SignatureRequest(acceptSignature: head.values(.acceptSignature))
        else { return response }
        let account = request.coverage.coversAccount ? response.fields[.account] ?? Self.nobody : nil
        let validator: String
        if response.status == .notModified {
            guard let tag = response.fields[.eTag] else { return response }
            validator = tag
        } else {
            let isEmpty = head.method == .head || response.status == .noContent
            validator = response.fields[.contentDigest] ?? ContentDigest.field(of: isEmpty ? [] : response.body)
        }
        do {
            let signature = try ResponseSignature(
                status: response.status.code,
                validator: validator,
                account: account,
                request: SignedRequest(head, token: tokens[0], nonce: request.nonce),
                coverage: request.coverage,
                label: request.label,
                key: self.keys.current.key(request.keyID),
                created: self.now()
            )
            var response = response
            if response.status != .notModified, response.fields[.contentDigest] == nil {
                response.fields.append(.contentDigest, validator)
            }
            if account == Self.nobody { response.fields.append(.account, Self.nobody) }
            response.fields.append(.signatureInput, signature.input)
            response.fields.append(.signature, signature.signature)
            // The signature belongs to this one request: a client that got it from a cache could
            // not verify it.
            response.fields.remove(.cacheControl)
            response.fields.remove(.expires)
            response.fields.append(.cacheControl, "no-store")
            return response
        } catch is SignatureFailure {
            // The token is not ASCII; the server has answered it with a problem, too.
            return response
        } catch {
            self.logger.error("answer signing failed; the answer was sent unsigned", metadata: ["error": "\(error)"])
            return response
        }
    }
}

extension SignedRequest {
    /// The request as the server has received it: a proxy may have changed its path.
    fileprivate init(_ head: RequestHead, token: String, nonce: String?) {
        self.init(method: head.method.rawValue, path: head.path, query: head.query, token: token, nonce: nonce)
    }
}
