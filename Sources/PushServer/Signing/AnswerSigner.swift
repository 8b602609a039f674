internal import Foundation
internal import HTTPSignatures
internal import HTTPTypes
internal import Logging
internal import PushAPI
internal import SocketHTTP

/// Signs answers for clients that ask for it (RFC 9421), over status, content and the request's own `MyToken`, and over its
/// method, path and query as far as they ask for these.
struct AnswerSigner: Sendable {
    let keys: SigningKeys
    let logger: Logger
    let now: @Sendable () -> Date

    /// Throws an `unsupported-signature` problem if the request, which has an `Accept-Signature`, asks for one that cannot be
    /// made: before anything is done, for the answer to that would be unsigned.
    @inline(never)
    func check(_ head: RequestHead) throws(Problem) {
        do throws(SignatureFailure) {
            _ = try SignatureRequest(acceptSignature: head.values(.acceptSignature))
        } catch {
            throw Problem(.unsupportedSignature, "\(error)")
        }
        guard head.count(of: .myToken) > 0 else {
            throw Problem(.unsupportedSignature, "a signed answer needs a MyToken field in the request")
        }
    }

    /// Has what will be signed its digest already, where the body is long and this is no loop.
    func addDigest(to response: inout Response, for head: RequestHead) {
        guard head.count(of: .acceptSignature) > 0, head.method == .get, response.status == .ok else { return }
        response.fields.append(.contentDigest, ContentDigest.field(of: response.body))
    }

    /// The answer as it goes out to a request that asks for a signature: nothing that is signed may change after this.
    ///
    /// Not signed is what is asked for wrongly, and a streaming body, such as an event stream's.
    @inline(never)
    func signed(_ response: Response, for head: RequestHead) -> Response {
        let tokens = head.values(.myToken)
        guard
            response.streamingBody == nil, tokens.count == 1,
            // Which has been answered with a problem.
            let request = try? SignatureRequest(acceptSignature: head.values(.acceptSignature))
        else { return response }
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
                request: SignedRequest(head, token: tokens[0]),
                coverage: request.coverage,
                label: request.label,
                key: self.keys.current.key(request.keyID),
                created: self.now()
            )
            var response = response
            if response.status != .notModified, response.fields[.contentDigest] == nil {
                response.fields.append(.contentDigest, validator)
            }
            response.fields.append(.signatureInput, signature.input)
            response.fields.append(.signature, signature.signature)
            // It belongs to this one request: whoever got it from a cache could not verify it.
            response.fields.remove(.cacheControl)
            response.fields.remove(.expires)
            response.fields.append(.cacheControl, "no-store")
            return response
        } catch is SignatureFailure {
            // A token that is not of ASCII, which has been answered with a problem, too.
            return response
        } catch {
            self.logger.error("answer signing failed; sent unsigned", metadata: ["error": "\(error)"])
            return response
        }
    }
}

extension SignedRequest {
    /// The request as the server has received it: a proxy may have changed its path.
    fileprivate init(_ head: RequestHead, token: String) {
        self.init(method: head.method.rawValue, path: head.path, query: head.query, token: token)
    }
}
