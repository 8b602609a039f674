internal import Bytes

/// The signature that an `Accept-Signature` asks for (RFC 9421 §5). It covers the components of
/// ``SignatureCoverage/answer``, and any of the further components of
/// ``SignatureCoverage/account``, in any order.
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
    /// If none can be made, throws the reason why the first one cannot be made: other components,
    /// another algorithm, an unknown parameter, or a label or nonce that is too long.
    public init(acceptSignature lines: [String]) throws(SignatureFailure) {
        let dictionary = try StructuredFieldParser.dictionary(lines, of: "Accept-Signature")
        guard !dictionary.hasRepeated else { throw SignatureFailure(.duplicate, "a label appears twice") }
        var first = SignatureFailure(.missing, "Accept-Signature asks for no signature")
        for (index, entry) in dictionary.entries.enumerated() {
            do throws(SignatureFailure) {
                self = try Self(entry.key, entry.value)
                return
            } catch {
                if index == 0 { first = error }
            }
        }
        throw first
    }

    private init(_ label: String, _ member: FieldMember) throws(SignatureFailure) {
        guard label.utf8.count <= Self.maximumLabelLength else {
            throw SignatureFailure(.malformed, "the label must have at most \(Self.maximumLabelLength) characters")
        }
        guard case .list(let list) = member, let coverage = SignatureCoverage(list.items) else {
            throw SignatureFailure(.wrongComponents, "what can be signed is \(SignatureCoverage.account.list())")
        }
        guard !list.parameters.hasRepeated else { throw SignatureFailure(.duplicate, "a parameter appears twice") }
        self.label = label
        self.coverage = coverage
        var (keyID, nonce): (String?, String?)
        for parameter in list.parameters.entries {
            switch (parameter.key, parameter.value) {
            case ("keyid", .string(let id)): keyID = id
            case ("nonce", .string(let text)) where Self.nonceLength.contains(text.utf8.count): nonce = text
            case ("alg", .string(SigningKey.algorithm)), ("created", .boolean(true)): break
            case ("keyid", _): throw SignatureFailure(.malformed, "keyid must be in double quotes")
            case ("nonce", _):
                let length = "\(Self.nonceLength.lowerBound) to \(Self.nonceLength.upperBound)"
                throw SignatureFailure(.malformed, "nonce must be \(length) characters in double quotes")
            case ("alg", _): throw SignatureFailure(.wrongAlgorithm, "alg must be \"\(SigningKey.algorithm)\"")
            case ("created", _): throw SignatureFailure(.malformed, "created must have no value; the server sets it")
            case (let key, _):
                let text = "the parameter \(key.prefix(64)) is not one of keyid, nonce, alg and created"
                throw SignatureFailure(.wrongComponents, text)
            }
        }
        (self.keyID, self.nonce) = (keyID, nonce)
    }

    /// The member of `Accept-Signature` that asks for a signature with the key `keyID`, or with
    /// any key if `keyID` is `nil`.
    static func list(_ coverage: SignatureCoverage, keyID: String?, nonce: String? = nil) -> String {
        var parameters = FieldParameters()
        if let keyID, keyID.utf8.allSatisfy(\.isPrintable) {
            parameters.append("keyid", .string(keyID))
        }
        if let nonce { parameters.append("nonce", .string(nonce)) }
        return coverage.list() + parameters.text
    }
}
