internal import Bytes
public import Foundation

/// The two fields that sign an answer.
public struct ResponseSignature: Sendable, Hashable {
    /// The value of `Signature-Input`.
    public let input: String
    /// The value of `Signature`.
    public let signature: String

    /// Signs an answer: `validator` is its `Content-Digest`, or the `ETag` of a 304, and `account`
    /// its `Sealpost-Account`, exactly as in the answer. The signature has the request's nonce.
    ///
    /// Throws if the request has no token, or if the coverage includes the account and `account`
    /// is `nil`. Also throws if a value could be read as more than one line, or if the key fails.
    public init(
        status: Int,
        validator: String,
        account: String? = nil,
        request: SignedRequest,
        coverage: SignatureCoverage = .exchange,
        label: String,
        key: SigningKey,
        created: Date
    ) throws {
        let base = try SignatureBase(
            coverage,
            status: status,
            validator: validator,
            account: account,
            request: request,
            parameters: SignatureBase.parameters(
                created: Int64(created.timeIntervalSince1970.rounded(.down)),
                keyID: key.id,
                algorithm: SigningKey.algorithm,
                nonce: request.nonce
            )
        )
        self.input = "\(label)=\(base.parameters)"
        self.signature = "\(label)=:\(Base64.standard.text(of: try key.signature(over: base))):"
    }
}
