import Foundation
import PushTesting
import Testing

@testable import HTTPSignatures

/// The Python libraries http-message-signatures and http-sf, which share no code with this
/// project, verify and make signatures.
@Suite(.timeLimit(.minutes(5))) struct SignatureDifferentialTests {
    private struct Question: Encodable {
        var key: String
        var seed: String?
        var keyID: String
        var status: Int
        var body: Data
        var method: String
        var target: String
        var token: String
        /// The components of the signature, in order.
        var components: [String]
        var fields: [String: String]

        /// The request as this project's verifier reads it.
        var request: SignedRequest {
            let parts = self.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            return SignedRequest(
                method: self.method,
                path: String(parts[0]),
                query: parts.count > 1 ? String(parts[1]) : nil,
                token: self.token
            )
        }
    }

    /// The library's verdict on this project's signature, or a signature of the library.
    private struct Answer: Decodable {
        var error: String?
        var fields: [String: String]?
    }

    private static let bodies = [
        "", "{}", #"{"Id":7,"Payload":"Grüße","Read":false}"#, String(repeating: "x", count: 70_000),
    ]

    private static let requests = [
        ("GET", "/"), ("GET", ""), ("HEAD", "/healthz"), ("PUT", "/api/register/a.b-c_d"), ("OPTIONS", "/"),
        ("POST", "/api/register?handle=a%2Bb%2Fc%20d%26e%3D%C3%A4"), ("GET", "/api/notifications?"), ("GET", "?"),
        ("GET", "/api/notifications?limit=500&since=x"), ("DELETE", "/api/users/%C3%BC"),
        ("PATCH", "/a//b;c+d?e?/+f;%2b"),
        ("GET", "/%7e/~?%7E~"), ("POST", "/a:b@c!$&'()*,=?!$&'()*,=:@"),
    ]

    /// Returns the signature components that this project's client requests, those that older
    /// clients request, or a random list that the server accepts.
    private static func coverage(_ number: Int) throws -> SignatureCoverage {
        if number % 3 == 0 { return .exchange }
        if number % 3 == 1 { return .answer }
        let all = SignatureCoverage.exchange.components(status: 200)
        let list = (all.prefix(3) + all.dropFirst(3).shuffled().prefix(Int.random(in: 1...3))).shuffled()
        return try SignatureRequest(acceptSignature: ["sig=\(InnerList(list.map(\.item)).text)"]).coverage
    }

    /// Makes a question for each pair of a request and a status, with several bodies in turn.
    private static func questions() throws -> [(question: Question, coverage: SignatureCoverage, key: SigningKey)] {
        let statuses = [200, 201, 204, 304, 400, 401, 404, 429, 500]
        return try (0..<Self.requests.count * statuses.count).map { number in
            let (request, status) = (Self.requests[number % Self.requests.count], statuses[number % statuses.count])
            let (key, coverage) = (SigningKey(), try Self.coverage(number / statuses.count))
            let question = Question(
                key: key.publicKey.rawRepresentation.base64EncodedString(),
                keyID: key.id,
                status: status,
                body: status == 304 ? Data() : Data(Self.bodies[number % Self.bodies.count].utf8),
                method: request.0,
                target: request.1,
                token: String(Int.random(in: 0...126_322_567)),
                components: coverage.components(status: status).map(\.description),
                fields: [:]
            )
            return (question, coverage, key)
        }
    }

    /// Returns the questions that differ from `question` in one covered component of the request.
    /// The library must refuse each of them.
    private static func exchanged(_ question: Question) -> [Question] {
        var others = [question, question, question, question]
        others[0].token += "1"
        others[1].method = question.method == "GET" ? "HEAD" : "GET"
        others[2].target = "/other\(question.target)"
        others[3].target += question.target.contains("?") ? "&" : "?x"
        let isCovered = ["mytoken", "@method", "@path", "@query"].map { question.components.contains("\"\($0)\";req") }
        return zip(others, isCovered).filter(\.1).map(\.0)
    }

    @Test func oracleVerifiesOurSignatures() async throws {
        var questions = try Self.questions().map { question, coverage, key in
            var question = question
            let validator = question.status == 304 ? #""5ea1""# : ContentDigest.field(of: question.body)
            let signature = try ResponseSignature(
                status: question.status,
                validator: validator,
                request: question.request,
                coverage: coverage,
                label: "sig",
                key: key,
                created: Date()
            )
            question.fields = [
                question.status == 304 ? "ETag" : "Content-Digest": validator, "Signature-Input": signature.input,
                "Signature": signature.signature,
            ]
            return question
        }
        let good = questions.count
        questions += questions.flatMap(Self.exchanged)
        let answers = try await Oracle.answers(of: "signature_oracle.py", to: questions, as: Answer.self)
        try #require(answers.count == questions.count)
        for (index, answer) in answers.enumerated() {
            #expect((answer.error == nil) == (index < good), "\(questions[index]): \(answer.error ?? "")")
        }
    }

    @Test func ourVerifierAcceptsTheOraclesSignatures() async throws {
        let samples = try Self.questions()
        let questions = samples.map { question, _, key in
            var question = question
            question.seed = key.rawRepresentation.base64EncodedString()
            if question.status == 304 { question.fields = ["ETag": #""5ea1""#] }
            return question
        }
        let answers = try await Oracle.answers(of: "signature_oracle.py", to: questions, as: Answer.self)
        try #require(answers.count == questions.count)
        for ((question, coverage, key), answer) in zip(samples, answers) {
            let fields = try #require(answer.fields, "\(answer.error ?? "")")
            let verifier = ResponseVerifier(keys: [key.publicKey], coverage: coverage)
            func verify(_ request: SignedRequest) throws(SignatureFailure) {
                let message = SignedMessage(status: question.status, body: question.body, request: request) { name in
                    fields.filter { $0.key.lowercased() == name }.map(\.value)
                }
                try verifier.verify(message, now: Date())
            }
            #expect(throws: Never.self, "\(fields)") { try verify(question.request) }
            for other in Self.exchanged(question) {
                #expect(throws: SignatureFailure.self, "\(other.request)") { try verify(other.request) }
            }
        }
    }

    private struct Field: Encodable {
        let dictionary: String
    }

    private struct Reading: Decodable {
        /// The field as the oracle (http-sf) writes it; `nil` if the oracle finds the field
        /// invalid.
        let written: String?
    }

    /// The test makes dictionaries of random parts. The project and the oracle must read them in
    /// the same way.
    @Test func dictionariesAreReadAsByTheOracle() async throws {
        let parts = [
            "a", "b", "*", "=", "=", "(", ")", " ", ",", ", ", ";", "\"x\"", "\"\\\"\"", "1", "-0", "1.5", "007", "?1",
            "?0",
            "tok", ":AA==:", ":AB==:", ":AAA:", "@5", "%\"%c3%bc\"", "%\"%c3\"", "\t", "\"", "1234567890123456",
        ]
        var generator = SystemRandomNumberGenerator()
        let fields = (0..<4000).map { number -> String in
            let length = Int.random(in: 1...8, using: &generator)
            let text = (0..<length).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
            return number % 2 == 0 ? text : "a=\(text)"
        }
        let questions = fields.map(Field.init)
        let readings = try await Oracle.answers(of: "signature_oracle.py", to: questions, as: Reading.self)
        try #require(readings.count == fields.count)
        for (field, reading) in zip(fields, readings) {
            // The oracle http-sf ignores missing padding and surplus bits, as RFC 9651 §4.2.7
            // allows.
            guard !field.contains(":AB==:"), !field.contains(":AAA:") else { continue }
            guard let own = try? StructuredFieldParser.dictionary(field) else {
                #expect(reading.written == nil, "\(field)")
                continue
            }
            // The oracle http-sf knows no empty dictionaries, writes dates in another form, and
            // joins repeated members. Such fields are left out.
            guard !own.entries.isEmpty, !own.text.contains("@"), !own.hasRepeated, !own.repeatsAParameter else {
                continue
            }
            #expect(reading.written == own.text, "\(field)")
        }
    }
}

extension Keyed where Value == FieldMember {
    fileprivate var repeatsAParameter: Bool {
        self.entries.contains { entry in
            switch entry.value {
            case .item(let item): item.parameters.hasRepeated
            case .list(let list): list.parameters.hasRepeated || list.items.contains { $0.parameters.hasRepeated }
            }
        }
    }
}
