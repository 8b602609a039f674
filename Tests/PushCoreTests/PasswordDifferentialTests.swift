import Foundation
import PushCore
import PushTesting
import Testing

/// The Python library argon2-cffi checks the hashes of this project, and this project checks the
/// hashes of argon2-cffi.
@Suite(.timeLimit(.minutes(5))) struct PasswordDifferentialTests {
    private struct Question: Encodable {
        var phc: String?
        var memory: Int?
        var passes: Int?
        var lanes: Int?
        var saltLength: Int?
        var digestLength: Int?
        let passwords: [Data]
    }

    private struct Answer: Decodable {
        let phc: String?
        let matches: [Bool]?
    }

    private static let count = 1000
    private static let texts = [
        "correct horse ", "pässwörd: ", "🔐 ключ ", "e\u{301}\u{302} ", "$m=8,t=1,p=1$ ", "\"\\ ", "        ",
    ]

    /// Small parameters, so that a thousand hashes take only seconds. Every two hundredth hash
    /// uses the parameters of production.
    private static func parameters(_ number: Int) throws -> PasswordParameters {
        if number.isMultiple(of: 200) { return .usual }
        let lanes = number % 3 + 1
        return try #require(
            PasswordParameters(memory: 8 * lanes + number * 7 % 100, passes: number % 3 + 1, lanes: lanes)
        )
    }

    /// A password of 8 to 250 bytes, and another one that differs slightly.
    private static func passwords(_ number: Int) -> [String] {
        let text = Self.texts[number % Self.texts.count]
        let long = String(repeating: text, count: number % 17 + 1) + "\(number + 10_000_000)"
        let password = long.utf8.count <= 250 ? long : "\(number + 10_000_000)"
        return [password, number.isMultiple(of: 2) ? password + " " : String(password.dropLast()) + "x"]
    }

    @Test func oracleVerifiesOurHashes() async throws {
        let questions = try (0..<Self.count).map { number in
            let passwords = Self.passwords(number)
            let hash = try PasswordHash(of: passwords[0], parameters: Self.parameters(number))
            return Question(phc: hash.phc, passwords: passwords.map { Data($0.utf8) })
        }
        let answers = try await Oracle.answers(of: "argon2_oracle.py", to: questions, as: Answer.self)
        try #require(answers.count == Self.count)
        for (question, answer) in zip(questions, answers) {
            #expect(answer.matches == [true, false], "\(question.phc ?? "")")
        }
        #expect(Set(questions.map(\.phc)).count == Self.count)
    }

    @Test func hashesOfTheOracleAreVerified() async throws {
        let questions = try (0..<Self.count).map { number in
            let parameters = try Self.parameters(number)
            // The text includes characters that users may not choose, but that may be stored.
            let extra = number.isMultiple(of: 10) ? "\u{0}\n" : ""
            return Question(
                memory: parameters.memory,
                passes: parameters.passes,
                lanes: parameters.lanes,
                saltLength: number % 41 + 8,
                digestLength: number % 53 + 12,
                passwords: Self.passwords(number).map { Data((extra + $0).utf8) }
            )
        }
        let answers = try await Oracle.answers(of: "argon2_oracle.py", to: questions, as: Answer.self)
        try #require(answers.count == Self.count)
        for (number, (question, answer)) in zip(questions, answers).enumerated() {
            let hash = PasswordHash(phc: try #require(answer.phc))
            let passwords = question.passwords.map { String(decoding: $0, as: UTF8.self) }
            #expect(passwords.map(hash.matches) == [true, false], "\(hash.phc)")
            #expect(try hash.parameters == Self.parameters(number))
        }
    }
}
