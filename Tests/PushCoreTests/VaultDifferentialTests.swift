import Cryptography
import Foundation
import PushCore
import PushTesting
import Testing

/// The Python package cryptography, which shares no code with this project, writes and reads
/// values in the vault's format, and derives the same keys.
@Suite(.timeLimit(.minutes(5))) struct VaultDifferentialTests {
    private struct Question: Encodable {
        let key: Data
        let number: UInt32
        let id: Int64
        let sender: Int64
        /// A value that this project encrypted, and that Python must decrypt.
        let sealed: Data
        /// A text that Python must encrypt.
        let plaintext: Data
        let nonce: Data
        let purpose: String
    }

    private struct Answer: Decodable {
        let plaintext: Data
        let sealed: Data
        let derived: Data
    }

    private static let lengths = [0, 1, 15, 16, 17, 1000, 65_536]

    private static func randomBytes(_ count: Int) -> Data {
        Data((0..<count).map { _ in .random(in: 0 ... .max) })
    }

    @Test func vaultAndOracleDecryptEachOtherAndDeriveTheSameKeys() async throws {
        var questions: [Question] = []
        for length in Self.lengths {
            for number in [1, 7, UInt32.max] {
                let (key, plaintext) = (Self.randomBytes(32), Self.randomBytes(length))
                let (id, sender) = (Int64.random(in: 1..<1 << 53), Int64.random(in: 1..<1 << 53))
                let vault = Vault(try Keyring(text: "\(number) \(key.base64EncodedString())"))
                questions.append(
                    Question(
                        key: key,
                        number: number,
                        id: id,
                        sender: sender,
                        sealed: try vault.seal(plaintext, in: Self.place(id, sender)),
                        plaintext: plaintext,
                        nonce: Self.randomBytes(12),
                        purpose: "purpose \(length)"
                    )
                )
            }
        }
        let answers = try await Oracle.answers(of: "vault_oracle.py", to: questions, as: Answer.self)
        try #require(answers.count == questions.count)
        for (question, answer) in zip(questions, answers) {
            #expect(answer.plaintext == question.plaintext)
            let keyring = try Keyring(text: "\(question.number) \(question.key.base64EncodedString())")
            #expect(
                try Vault(keyring).open(answer.sealed, in: Self.place(question.id, question.sender))
                    == question.plaintext
            )
            let secret = try #require(IndexSecret(bytes: question.key))
            #expect(secret.derive(question.purpose).withUnsafeBytes { Data($0) } == answer.derived)
        }
    }

    private static func place(_ id: Int64, _ sender: Int64) throws -> SealedPlace {
        .payload(try #require(NotificationID(rawValue: id)), sender: sender)
    }
}
