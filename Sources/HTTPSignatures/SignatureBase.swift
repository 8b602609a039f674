internal import Bytes

/// A component that a signature covers (RFC 9421 §2): a field, or a value derived from a message,
/// such as `@status`.
public struct SignatureComponent: Sendable, Hashable, CustomStringConvertible {
    /// The name, in lower case.
    public let name: String
    /// Whether the component belongs to the answer's request (`req`).
    public let isOfRequest: Bool

    /// A component of that name, which must be in lower case.
    public init(_ name: String, isOfRequest: Bool = false) {
        self.name = name
        self.isOfRequest = isOfRequest
    }

    /// Returns `nil` for a parameter other than `req`.
    init?(_ item: FieldItem) {
        guard case .string(let name) = item.value else { return nil }
        switch item.parameters.entries.map(\.key) {
        case []: self.init(name)
        case ["req"] where item.parameters["req"] == .boolean(true): self.init(name, isOfRequest: true)
        default: return nil
        }
    }

    var item: FieldItem {
        var parameters = FieldParameters()
        if self.isOfRequest { parameters.append("req", .boolean(true)) }
        return FieldItem(.string(self.name), parameters: parameters)
    }

    /// The component as written in a signature's list.
    public var description: String { self.item.text }

    static let status = Self("@status")
    static let contentDigest = Self(ContentDigest.fieldName)
    static let etag = Self("etag")
    /// The account id that the answer is for, or `none`.
    static let account = Self("sealpost-account")
    static let requestToken = Self("mytoken", isOfRequest: true)
    static let method = Self("@method", isOfRequest: true)
    static let path = Self("@path", isOfRequest: true)
    static let query = Self("@query", isOfRequest: true)
}

/// The text to sign (RFC 9421 §2.5).
public struct SignatureBase: Sendable, Hashable {
    /// One line for each component, and the line of the parameters, which has no line end.
    public let text: String
    /// The value in `Signature-Input` after the label, byte for byte.
    public let parameters: String

    /// Creates the base from components with their values, in order, and from the parameters
    /// `created`, `keyid`, `alg` and `nonce`.
    ///
    /// Throws if a component appears twice, or if a value has a character other than printable
    /// ASCII and tabs: such a value could be read as more than one line.
    public init(
        _ components: [(component: SignatureComponent, value: String)],
        created: Int64,
        keyID: String,
        algorithm: String?,
        nonce: String? = nil
    ) throws(SignatureFailure) {
        let parameters = Self.parameters(created: created, keyID: keyID, algorithm: algorithm, nonce: nonce)
        try self.init(components, parameters: parameters)
    }

    static func parameters(
        created: Int64,
        keyID: String,
        algorithm: String?,
        nonce: String? = nil
    ) -> FieldParameters {
        var parameters = FieldParameters()
        parameters.append("created", .integer(created))
        parameters.append("keyid", .string(keyID))
        if let algorithm { parameters.append("alg", .string(algorithm)) }
        if let nonce { parameters.append("nonce", .string(nonce)) }
        return parameters
    }

    /// Creates the base of an answer: `validator` is its `Content-Digest`, or the `ETag` of a 304.
    ///
    /// Also throws if the request or the answer lacks a component.
    init(
        _ coverage: SignatureCoverage,
        status: Int,
        validator: String,
        account: String?,
        request: SignedRequest,
        parameters: FieldParameters
    ) throws(SignatureFailure) {
        var components: [(component: SignatureComponent, value: String)] = []
        for component in coverage.components(status: status) {
            switch component {
            case .status: components.append((component, String(status)))
            case .contentDigest, .etag: components.append((component, validator))
            case .account:
                guard let account else { throw SignatureFailure(.missing, "the answer has no \(component)") }
                components.append((component, account))
            default:
                guard let value = request.value(of: component) else {
                    throw SignatureFailure(.missing, "the request has no \(component)")
                }
                components.append((component, value))
            }
        }
        try self.init(components, parameters: parameters)
    }

    init(
        _ components: [(component: SignatureComponent, value: String)],
        parameters: FieldParameters
    ) throws(SignatureFailure) {
        guard Set(components.map(\.component)).count == components.count else {
            throw SignatureFailure(.duplicate, "the signature is over something twice")
        }
        self.parameters = InnerList(components.map(\.component.item), parameters: parameters).text
        var text = ""
        for (component, value) in components {
            guard value.utf8.allSatisfy({ $0.isPrintable || $0 == 0x09 }) else {
                throw SignatureFailure(.malformed, "\(component) is not of printable ASCII")
            }
            text += "\(component): \(value)\n"
        }
        self.text = text + #""@signature-params": \#(self.parameters)"#
    }
}
