package import Foundation
internal import HTTPSignatures
internal import HTTPTypes
package import Logging
internal import PushAPI
internal import SocketHTTP

/// Signs answers for clients that request signatures (RFC 9421). The signature covers the answer's
/// status and content, and the `MyToken` of the request. On request, the signature also covers the
/// request's method, path and query, and the caller's account. The signature contains the nonce
/// that the client has sent.
package struct AnswerSigner: Sendable {
    /// The value of `Sealpost-Account` if the server does not know the caller.
    private static let nobody = "none"

    let keys: SigningKeys
    let logger: Logger
    let now: @Sendable () -> Date

    /// `now` is the machine's clock. Nothing expires by the time of a signature.
    package init(keys: SigningKeys, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }) {
        (self.keys, self.logger, self.now) = (keys, logger, now)
    }

    /// Throws an `unsupported-signature` problem if the server cannot make the signature that the
    /// request's `Accept-Signature` describes. The server calls this before any work, so that a
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

    /// Adds the digest of an answer's content before the answer is signed. The pool for long
    /// bodies calls this method, so that no event loop is blocked.
    func addDigest(to response: inout Response, for head: RequestHead) {
        guard head.count(of: .acceptSignature) > 0, head.method == .get, response.status == .ok else { return }
        response.fields.append(.contentDigest, ContentDigest.field(of: response.body))
    }

    /// The signed answer to a request that asks for a signature. The parts of the answer that are
    /// signed may not change after this call.
    ///
    /// An answer stays unsigned if the request for a signature is invalid, or if the answer has a
    /// streaming body, such as an event stream.
    @inline(never)
    func signed(_ response: Response, for head: RequestHead) -> Response {
        let tokens = head.values(.myToken)
        guard
            response.streamingBody == nil, tokens.count == 1,
            // The parser throws if the field is invalid; in that case `response` is already the
            // problem about the field.
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
            // No cache may keep the answer: its signature belongs to this one request, and a
            // client that got the answer from a cache could not verify it.
            response.fields.remove(.cacheControl)
            response.fields.remove(.expires)
            response.fields.append(.cacheControl, "no-store")
            return response
        } catch is SignatureFailure {
            // The request's `MyToken` is not ASCII; in that case, too, `response` is already a
            // problem.
            return response
        } catch {
            self.logger.error("answer signing failed; the answer was sent unsigned", metadata: ["error": "\(error)"])
            return response
        }
    }
}

extension SignedRequest {
    /// The parts of the request as the server has received it; a proxy may have changed the path.
    fileprivate init(_ head: RequestHead, token: String, nonce: String?) {
        self.init(method: head.method.rawValue, path: head.path, query: head.query, token: token, nonce: nonce)
    }
}
