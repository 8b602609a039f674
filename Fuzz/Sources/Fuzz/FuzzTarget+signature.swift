import Foundation

@testable import HTTPSignatures

extension FuzzTarget {
    private static let now = Date(timeIntervalSince1970: 1_618_884_473)
    private static let signed: (key: VerificationKey, digest: String, signature: ResponseSignature) = {
        do {
            let key = try SigningKey(rawRepresentation: [UInt8](repeating: 7, count: 32))
            let digest = ContentDigest.field(of: [])
            let signature = try ResponseSignature(
                status: 200,
                validator: digest,
                token: "1",
                label: "sig",
                key: key,
                created: Self.now
            )
            return (key.publicKey, digest, signature)
        } catch {
            preconditionFailure("32 bytes are a key, and it signs: \(error)")
        }
    }()

    /// The fields of a signature, one to a line, in the place of those that are signed: they are accepted if and only if
    /// they mean the same. What may be asked for by `Accept-Signature` is what the verifier demands.
    static func signature(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        let input = lines[0]
        let digest = lines.count > 1 ? lines[1] : Self.signed.digest
        let signature = lines.count > 2 ? lines[2] : Self.signed.signature.signature
        let message = SignedMessage(status: 200, body: [], requestToken: "1") { name in
            switch name {
            case "signature-input": [input]
            case "content-digest": [digest]
            case "signature": [signature]
            default: []
            }
        }
        let result = Result { () throws(SignatureFailure) in
            try ResponseVerifier(keys: [Self.signed.key]).verify(message, now: Self.now)
        }
        if case .success = result {
            let list = try Self.list(of: input)
            try require("sig=\(list.text)" == Self.signed.signature.input, "\(input) is what was signed")
            try require(FieldLines.value(of: [digest]) == Self.signed.digest, "\(digest) is what was signed")
        }
        if let request = try? SignatureRequest(acceptSignature: [input]) {
            let list = InnerList(SignatureComponent.ofAnswer(status: 200).map(\.item)).text
            try require(input.contains("\(request.label)="), "\(request.label) is in \(input)")
            try require(list == #"("@status" "content-digest" "mytoken";req)"#, "\(list) is what is demanded")
        }
    }

    /// The list under whose name our key has signed.
    private static func list(of input: String) throws -> InnerList {
        for entry in try StructuredFieldParser.dictionary(FieldLines.value(of: [input])).entries {
            guard case .list(let list) = entry.value else { continue }
            if list.parameters["keyid"] == .string(Self.signed.key.id) { return list }
        }
        throw Contradiction(description: "does not hold: \(input) names our key")
    }
}
