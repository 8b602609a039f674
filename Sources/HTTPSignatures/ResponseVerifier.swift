public import Foundation

/// Verifies signed answers with known keys.
///
/// ```swift
/// let verifier = ResponseVerifier(keys: [pinned])
/// request.setValue(ResponseVerifier.acceptSignature(keyID: pinned.id), forHTTPHeaderField: "Accept-Signature")
/// // ... and of the answer:
/// let sent = SignedRequest(method: "GET", url: url, token: token)
/// let message = SignedMessage(status: status, body: body, request: sent) { name in lines(of: name) }
/// try verifier.verify(message, now: Date())
/// ```
/// If an answer passes, a holder of one of the keys made it for a request with this method, path,
/// query and token. Nothing has changed its status and content on the way. With a nonce in the
/// request and in the signature, no clock matters. With ``SignatureCoverage/account`` this also
/// holds for the answer's `Sealpost-Account`. Compare it with the account of the request: a proxy
/// that terminates TLS can send the same request from an account of its own. The other fields of
/// the answer are not signed, nor is the body of the request.
public struct ResponseVerifier: Sendable {
    private let keys: [String: VerificationKey]
    private let coverage: SignatureCoverage
    private let tolerance: Double

    /// Creates a verifier that requires exactly `coverage`.
    ///
    /// `tolerance` is the largest difference between the clocks of both sides, including the time
    /// in transit.
    public init(
        keys: [VerificationKey],
        coverage: SignatureCoverage = .exchange,
        tolerance: Duration = .seconds(300)
    ) {
        let keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.init(keys, coverage: coverage, tolerance: tolerance)
    }

    /// Creates a verifier with keys under other names than their thumbprints.
    init(
        _ keys: [String: VerificationKey],
        coverage: SignatureCoverage = .exchange,
        tolerance: Duration = .seconds(300)
    ) {
        self.keys = keys
        self.coverage = coverage
        self.tolerance = Double(tolerance.components.seconds) + Double(tolerance.components.attoseconds) * 1e-18
    }

    /// The value of a request's `Accept-Signature` that asks for the coverage of a verifier, or
    /// for `otherwise` if the server cannot sign so much.
    ///
    /// With a `nonce` of printable ASCII, the value also asks for a signature without a nonce,
    /// since servers of earlier versions do not know nonces.
    public static func acceptSignature(
        keyID: String? = nil,
        coverage: SignatureCoverage = .exchange,
        otherwise: SignatureCoverage? = nil,
        nonce: String? = nil
    ) -> String {
        // The preferred signature comes first, because servers choose the first one that they can
        // make.
        var lists = ["sig=\(SignatureRequest.list(coverage, keyID: keyID, nonce: nonce))"]
        if nonce != nil { lists.append("sig1=\(SignatureRequest.list(coverage, keyID: keyID))") }
        if let otherwise { lists.append("sig0=\(SignatureRequest.list(otherwise, keyID: keyID))") }
        return lists.joined(separator: ", ")
    }

    /// Returns the time at which the answer was signed. The answer must have a current signature
    /// by one of the keys, over exactly the required components.
    ///
    /// A 304, which has no content, is signed over its `ETag` instead of the digest.
    ///
    /// A signature with the request's nonce is current, whatever the clocks say. The algorithm is
    /// always the key's. Signatures by other keys are ignored.
    @discardableResult
    public func verify(_ message: SignedMessage, now: Date) throws(SignatureFailure) -> Date {
        let (key, label, list) = try self.signatureInput(of: message)
        let signature = try self.signature(of: message, label: label)
        try self.checkCoverage(list, status: message.status)
        guard !list.parameters.hasRepeated else { throw SignatureFailure(.duplicate, "a parameter appears twice") }
        guard [nil, .string(SigningKey.algorithm)].contains(list.parameters["alg"]) else {
            throw SignatureFailure(.wrongAlgorithm, "the signature claims to be another than the key's")
        }
        let base = try SignatureBase(
            self.coverage,
            status: message.status,
            validator: try self.validator(of: message),
            account: message.account.isEmpty ? nil : FieldLines.value(of: message.account),
            request: message.request,
            parameters: list.parameters
        )
        guard key.isSignature(signature, over: base) else {
            throw SignatureFailure(.badSignature, "the signature is not over this answer to this request")
        }
        return try self.checkTime(list.parameters, nonce: message.request.nonce, now: now)
    }

    // MARK: - Private

    private func signatureInput(
        of message: SignedMessage
    ) throws(SignatureFailure) -> (key: VerificationKey, label: String, list: InnerList) {
        guard !message.signatureInput.isEmpty else { throw SignatureFailure(.missing, "there is no Signature-Input") }
        let inputs = try StructuredFieldParser.dictionary(message.signatureInput, of: "Signature-Input")
        guard !inputs.hasRepeated else { throw SignatureFailure(.duplicate, "a label appears twice") }
        var found: [(key: VerificationKey, label: String, list: InnerList)] = []
        for entry in inputs.entries {
            guard case .list(let list) = entry.value else {
                throw SignatureFailure(.malformed, "Signature-Input has no list under \(entry.key)")
            }
            guard case .string(let id) = list.parameters["keyid"], let key = self.keys[id] else { continue }
            found.append((key, entry.key, list))
        }
        guard let first = found.first else { throw SignatureFailure(.unknownKey, "no signature is by a key we know") }
        guard found.count == 1 else { throw SignatureFailure(.duplicate, "two signatures are by keys we know") }
        return first
    }

    private func signature(of message: SignedMessage, label: String) throws(SignatureFailure) -> [UInt8] {
        let signatures = try StructuredFieldParser.dictionary(message.signature, of: "Signature")
        guard !signatures.hasRepeated else { throw SignatureFailure(.duplicate, "a signature appears twice") }
        guard let member = signatures[label] else { throw SignatureFailure(.missing, "there is no Signature \(label)") }
        guard case .item(let item) = member, case .bytes(let signature) = item.value else {
            throw SignatureFailure(.malformed, "the Signature \(label) is not of bytes")
        }
        return signature
    }

    private func checkCoverage(_ list: InnerList, status: Int) throws(SignatureFailure) {
        let demanded = self.coverage.components(status: status)
        let covered = list.items.map(SignatureComponent.init)
        guard covered != demanded else { return }
        let isLess = Set(covered).isStrictSubset(of: demanded.map(Optional.some))
        // The new list lacks the parameters, so that the error does not contain the name of the
        // key.
        let text = InnerList(list.items).text
        throw SignatureFailure(
            isLess ? .insufficientCoverage : .wrongComponents,
            "the signature is over \(text), not \(self.coverage.list(status: status))"
        )
    }

    /// Returns the digest, after a check that it matches the content. For a 304, which must have
    /// no content, returns the `ETag`.
    private func validator(of message: SignedMessage) throws(SignatureFailure) -> String {
        guard message.status != 304 else {
            guard !message.etag.isEmpty else { throw SignatureFailure(.missing, "there is no ETag") }
            guard message.isEmpty else { throw SignatureFailure(.digestMismatch, "a 304 has a content") }
            return FieldLines.value(of: message.etag)
        }
        guard !message.contentDigest.isEmpty else { throw SignatureFailure(.missing, "there is no Content-Digest") }
        guard try ContentDigest.hash(in: message.contentDigest) == message.hash else {
            throw SignatureFailure(.digestMismatch, "the content is not that of the digest")
        }
        return FieldLines.value(of: message.contentDigest)
    }

    private func checkTime(
        _ parameters: FieldParameters,
        nonce: String?,
        now: Date
    ) throws(SignatureFailure) -> Date {
        guard case .integer(let created) = parameters["created"] else {
            throw SignatureFailure(.missing, "the signature does not say when it was made")
        }
        if let nonce, let seen = parameters["nonce"] {
            guard seen == .string(nonce) else {
                throw SignatureFailure(.badSignature, "the signature has the nonce of another request")
            }
            return Date(timeIntervalSince1970: TimeInterval(created))
        }
        let age = now.timeIntervalSince1970 - Double(created)
        guard abs(age) <= self.tolerance else {
            throw SignatureFailure(.stale, "the signature was made \(age.rounded()) s ago")
        }
        switch parameters["expires"] {
        case nil: break
        case .integer(let end) where now.timeIntervalSince1970 <= Double(end): break
        case .integer: throw SignatureFailure(.stale, "the signature has expired")
        default: throw SignatureFailure(.malformed, "the signature's end is no time")
        }
        return Date(timeIntervalSince1970: TimeInterval(created))
    }
}
