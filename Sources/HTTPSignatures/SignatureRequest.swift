internal import Bytes

/// The signature that an `Accept-Signature` asks for (RFC 9421 §5). It covers the components of
/// ``SignatureCoverage/answer``, and any of the others of ``SignatureCoverage/account``, in any
/// order.
public struct SignatureRequest: Sendable, Hashable {
    private static let maximumLabelLength = 64
    private static let nonceLength = 1...64

    /// The label of the signature.
    public let label: String
    /// The id of the requested key; `nil` if any key may sign.
    public let keyID: String?
    /// The nonce that the signature must contain, of at most 64 characters; `nil` if none is
    /// requested.
    public let nonce: String?
    /// The components to cover, in the requested order.
    public let coverage: SignatureCoverage

    /// Reads the lines of the field, and chooses the first signature that can be made.
    ///
    /// Throws if none can be made: because of other components, another algorithm, or unknown
    /// parameters.
    public init(acceptSignature lines: [String]) throws(SignatureFailure) {
        let dictionary = try StructuredFieldParser.dictionary(lines, of: "Accept-Signature")
        guard !dictionary.hasRepeated else { throw SignatureFailure(.duplicate, "a label appears twice") }
        guard let request = dictionary.entries.lazy.compactMap({ Self($0.key, $0.value) }).first else {
            throw SignatureFailure(.wrongComponents, "what can be signed is \(SignatureCoverage.account.list())")
        }
        self = request
    }

    private init?(_ label: String, _ member: FieldMember) {
        guard
            label.utf8.count <= Self.maximumLabelLength, case .list(let list) = member, !list.parameters.hasRepeated,
            let coverage = SignatureCoverage(list.items)
        else { return nil }
        self.label = label
        self.coverage = coverage
        var (keyID, nonce): (String?, String?)
        for parameter in list.parameters.entries {
            switch (parameter.key, parameter.value) {
            case ("keyid", .string(let id)): keyID = id
            case ("nonce", .string(let text)) where Self.nonceLength.contains(text.utf8.count): nonce = text
            case ("alg", .string(SigningKey.algorithm)), ("created", .boolean(true)): break
            default: return nil
            }
        }
        (self.keyID, self.nonce) = (keyID, nonce)
    }

    /// The member of the field that asks for a signature with that key, or with any key.
    static func list(_ coverage: SignatureCoverage, keyID: String?, nonce: String? = nil) -> String {
        var parameters = FieldParameters()
        if let keyID, keyID.utf8.allSatisfy(\.isPrintable) {
            parameters.append("keyid", .string(keyID))
        }
        if let nonce { parameters.append("nonce", .string(nonce)) }
        return coverage.list() + parameters.text
    }
}
