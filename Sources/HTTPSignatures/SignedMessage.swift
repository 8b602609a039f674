/// An answer, with what its request sent, as far as signatures go.
public struct SignedMessage: Sendable {
    let status: Int
    let hash: [UInt8]
    let isEmpty: Bool
    let requestToken: String?
    let signatureInput: [String]
    let signature: [String]
    let contentDigest: [String]
    let etag: [String]

    /// The body as it was received, and `MyToken` as it was sent.
    ///
    /// `fields` gives the lines of the answer's field of a name, which it is asked for in lower case: no lines if there is
    /// no such field. Lines that the system has joined with commas are as good.
    public init(
        status: Int,
        body: some Sequence<UInt8>,
        requestToken: String?,
        fields: (_ name: String) -> [String]
    ) {
        let body = Array(body)
        self.status = status
        self.hash = ContentDigest.hash(of: body)
        self.isEmpty = body.isEmpty
        self.requestToken = requestToken
        self.signatureInput = fields("signature-input")
        self.signature = fields("signature")
        self.contentDigest = fields(ContentDigest.fieldName)
        self.etag = fields("etag")
    }
}
