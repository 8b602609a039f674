import Foundation
import HTTPSignatures
import Testing

/// The Ed25519 key of RFC 9421 (B.1.4).
enum SampleKey {
    static let id = "test-key-ed25519"
    static let created = Int64(1_618_884_473)
    static let now = Date(timeIntervalSince1970: 1_618_884_473)

    static func signing() throws -> SigningKey {
        let seed = try #require(Data(base64Encoded: "n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU="))
        return try SigningKey(rawRepresentation: seed)
    }
}

/// A signed answer whose parts tests change.
struct SampleAnswer: Sendable {
    var status = 200
    var body = Array(#"{"message": "good dog"}"#.utf8)
    var request = SignedRequest(method: "GET", path: "/api/notifications", query: "limit=500", token: "20817")
    /// The field lines in order.
    var fields: [(name: String, value: String)] = []

    private static let account = "AAAAAAAAAAAAAAAAAAAAAA"

    /// Makes an answer that is signed with the RFC's key at the RFC's time, with the thumbprint of
    /// the key as key id.
    static func signed(
        status: Int = 200,
        body: String = #"{"message": "good dog"}"#,
        for request: SignedRequest? = nil,
        _ coverage: SignatureCoverage = .exchange
    ) throws -> SampleAnswer {
        var answer = SampleAnswer(status: status, body: Array(body.utf8))
        answer.request = request ?? answer.request
        let validator = status == 304 ? #""33a64df5""# : ContentDigest.field(of: answer.body)
        let signature = try ResponseSignature(
            status: status,
            validator: validator,
            account: Self.account,
            request: answer.request,
            coverage: coverage,
            label: "sig",
            key: SampleKey.signing(),
            created: SampleKey.now
        )
        answer.fields = [
            (status == 304 ? "etag" : "content-digest", validator), ("signature-input", signature.input),
            ("signature", signature.signature),
        ]
        if coverage.coversAccount { answer.fields.append(("sealpost-account", Self.account)) }
        return answer
    }

    subscript(_ name: String) -> String {
        get { self.fields.first { $0.name == name }?.value ?? "" }
        set {
            self.fields.removeAll { $0.name == name }
            self.fields.append((name, newValue))
        }
    }

    var message: SignedMessage {
        SignedMessage(status: self.status, body: self.body, request: self.request) { name in
            self.fields.filter { $0.name == name }.map(\.value)
        }
    }

    /// Returns why the verifier refuses the answer; `nil` if it accepts it.
    func refusal(
        by verifier: ResponseVerifier? = nil,
        now: Date = SampleKey.now
    ) throws -> SignatureFailure.Reason? {
        let verifier = try verifier ?? ResponseVerifier(keys: [SampleKey.signing().publicKey])
        do throws(SignatureFailure) {
            try verifier.verify(self.message, now: now)
            return nil
        } catch {
            return error.reason
        }
    }
}
