/// An answer, with the request that it is for, as far as signatures cover them.
public struct SignedMessage: Sendable {
    let status: Int
    let hash: [UInt8]
    let isEmpty: Bool
    let request: SignedRequest
    let signatureInput: [String]
    let signature: [String]
    let contentDigest: [String]
    let etag: [String]
    let account: [String]

    /// The body as it was received, and the request as it was sent.
    ///
    /// `fields` gives the lines of the answer's field of a name, which it is asked for in lower
    /// case: no lines if there is no such field. Lines that the system has joined with commas are
    /// as good.
    public init(
        status: Int,
        body: some Sequence<UInt8>,
        request: SignedRequest,
        fields: (_ name: String) -> [String]
    ) {
        let body = Array(body)
        self.status = status
        self.hash = ContentDigest.hash(of: body)
        self.isEmpty = body.isEmpty
        self.request = request
        self.signatureInput = fields("signature-input")
        self.signature = fields("signature")
        self.contentDigest = fields(ContentDigest.fieldName)
        self.etag = fields("etag")
        self.account = fields(SignatureComponent.account.name)
    }
}
