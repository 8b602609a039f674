/// The parts of an answer and of its request that signatures can cover.
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

    /// Takes the body as received, and the request as sent.
    ///
    /// `fields` returns the lines of the answer's field with the given name, which is in lower
    /// case; no lines if the field is missing. The system may have joined the lines with commas.
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
