import Foundation

@testable import HTTPSignatures

extension FuzzTarget {
    private static let now = Date(timeIntervalSince1970: 1_618_884_473)
    private static let request = SignedRequest(method: "GET", path: "/a", query: "b", token: "1")
    private static let digest = ContentDigest.field(of: [])
    private static let account = "dGhlIG9uZSBhY2NvdW50IQ"
    private static let key: SigningKey = {
        do {
            return try SigningKey(rawRepresentation: [UInt8](repeating: 7, count: 32))
        } catch {
            preconditionFailure("32 bytes are a key: \(error)")
        }
    }()
    private static let signatures: [(coverage: SignatureCoverage, signature: ResponseSignature)] = {
        do {
            return try [SignatureCoverage.answer, .exchange, .account].map { coverage in
                let signature = try ResponseSignature(
                    status: 200,
                    validator: Self.digest,
                    account: Self.account,
                    request: Self.request,
                    coverage: coverage,
                    label: "sig",
                    key: Self.key,
                    created: Self.now
                )
                return (coverage, signature)
            }
        } catch {
            preconditionFailure("every key signs: \(error)")
        }
    }()

    /// The fields of a signature, one on each line, replace the signed ones. The verifier accepts
    /// them if and only if they mean the same. A verifier can demand everything that
    /// `Accept-Signature` can ask for.
    static func signature(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        for (coverage, signed) in Self.signatures { try Self.verify(lines, coverage, signed) }
        guard let request = try? SignatureRequest(acceptSignature: [lines[0]]) else { return }
        try require(lines[0].contains("\(request.label)="), "\(request.label) is in \(lines[0])")
        let components = request.coverage.components(status: 200)
        try require(Set(components).count == components.count, "\(components) differ")
        let (least, most) = (SignatureCoverage.answer, SignatureCoverage.account)
        try require(Set(components).isSuperset(of: least.components(status: 200)), "\(components) are enough")
        try require(Set(components).isSubset(of: most.components(status: 200)), "\(components) are known")
        let again = try SignatureRequest(acceptSignature: ["\(request.label)=\(request.coverage.list())"])
        try require(again.coverage == request.coverage, "\(request.coverage.list()) is read as it is written")
    }

    private static func verify(_ lines: [String], _ coverage: SignatureCoverage, _ signed: ResponseSignature) throws {
        let input = lines[0]
        let digest = lines.count > 1 ? lines[1] : Self.digest
        let signature = lines.count > 2 ? lines[2] : signed.signature
        let message = SignedMessage(status: 200, body: [], request: Self.request) { name in
            switch name {
            case "signature-input": [input]
            case "content-digest": [digest]
            case "sealpost-account": [Self.account]
            case "signature": [signature]
            default: []
            }
        }
        let result = Result { () throws(SignatureFailure) in
            try ResponseVerifier(keys: [Self.key.publicKey], coverage: coverage).verify(message, now: Self.now)
        }
        guard case .success = result else { return }
        let list = try Self.list(of: input)
        try require("sig=\(list.text)" == signed.input, "\(input) is what was signed")
        try require(FieldLines.value(of: [digest]) == Self.digest, "\(digest) is what was signed")
    }

    /// Returns the list under whose name our key has signed.
    private static func list(of input: String) throws -> InnerList {
        for entry in try StructuredFieldParser.dictionary(FieldLines.value(of: [input])).entries {
            guard case .list(let list) = entry.value else { continue }
            if list.parameters["keyid"] == .string(Self.key.id) { return list }
        }
        throw Contradiction(description: "does not hold: \(input) names our key")
    }
}
