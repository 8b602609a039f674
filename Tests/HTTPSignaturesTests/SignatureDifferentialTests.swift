import Foundation
import PushTesting
import Testing

@testable import HTTPSignatures

/// http-message-signatures and http-sf of PyPI, which share nothing with us.
@Suite(.timeLimit(.minutes(5))) struct SignatureDifferentialTests {
    private struct Question: Encodable {
        var key: String
        var seed: String?
        var keyID: String
        var status: Int
        var body: Data
        var token: String
        var fields: [String: String]
    }

    /// Either what it makes of our signature, or a signature of its own.
    private struct Answer: Decodable {
        var error: String?
        var fields: [String: String]?
    }

    private static let bodies = [
        "", "{}", #"{"Id":7,"Payload":"Grüße","Read":false}"#, String(repeating: "x", count: 70_000),
    ]

    private static func questions(_ fields: (Int, Data, String, SigningKey) throws -> [String: String]) throws
        -> [Question]
    {
        try Self.bodies.flatMap { body in
            try [200, 201, 204, 304, 400, 401, 404, 429, 500].map { status in
                let key = SigningKey()
                let token = String(Int.random(in: 0...126_322_567))
                let body = status == 304 ? Data() : Data(body.utf8)
                return Question(
                    key: key.publicKey.rawRepresentation.base64EncodedString(),
                    seed: key.rawRepresentation.base64EncodedString(),
                    keyID: key.id,
                    status: status,
                    body: body,
                    token: token,
                    fields: try fields(status, body, token, key)
                )
            }
        }
    }

    @Test func itVerifiesWhatWeSign() async throws {
        var questions = try Self.questions { status, body, token, key in
            let validator = status == 304 ? #""5ea1""# : ContentDigest.field(of: body)
            let signature = try ResponseSignature(
                status: status,
                validator: validator,
                token: token,
                label: "sig",
                key: key,
                created: Date()
            )
            return [
                status == 304 ? "ETag" : "Content-Digest": validator, "Signature-Input": signature.input,
                "Signature": signature.signature,
            ]
        }
        for index in questions.indices { questions[index].seed = nil }
        let good = questions.count
        for var question in questions.prefix(good) {
            question.token += "1"
            questions.append(question)
        }
        let answers = try await Oracle.answers(of: "signature_oracle.py", to: questions, as: Answer.self)
        try #require(answers.count == questions.count)
        for (index, answer) in answers.enumerated() {
            #expect((answer.error == nil) == (index < good), "\(questions[index].status): \(answer.error ?? "")")
        }
    }

    @Test func weVerifyWhatItSigns() async throws {
        let questions = try Self.questions { status, _, _, _ in status == 304 ? ["ETag": #""5ea1""#] : [:] }
        let answers = try await Oracle.answers(of: "signature_oracle.py", to: questions, as: Answer.self)
        try #require(answers.count == questions.count)
        for (question, answer) in zip(questions, answers) {
            let fields = try #require(answer.fields, "\(answer.error ?? "")")
            let message = SignedMessage(status: question.status, body: question.body, requestToken: question.token) {
                name in
                fields.filter { $0.key.lowercased() == name }.map(\.value)
            }
            let key = try VerificationKey(rawRepresentation: #require(Data(base64Encoded: question.key)))
            #expect(throws: Never.self, "\(fields)") { try ResponseVerifier(keys: [key]).verify(message, now: Date()) }
        }
    }

    private struct Field: Encodable {
        let dictionary: String
    }

    private struct Reading: Decodable {
        /// `nil` if it is none.
        let written: String?
    }

    /// Dictionaries that are made of what dictionaries are made of.
    @Test func itReadsTheSameDictionaries() async throws {
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
            // It overlooks missing padding and bits to spare, as RFC 9651 §4.2.7 allows.
            guard !field.contains(":AB==:"), !field.contains(":AAA:") else { continue }
            guard let own = try? StructuredFieldParser.dictionary(field) else {
                #expect(reading.written == nil, "\(field)")
                continue
            }
            // It has no dictionary without members, dates of its own, and one entry for what appears twice.
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
