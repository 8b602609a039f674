import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct KeyringTextTests {
    private static func line(_ number: UInt32, _ byte: UInt8) -> String {
        "\(number) \(Data(repeating: byte, count: 32).base64EncodedString())"
    }
    private let text = "# mine\n\(Self.line(7, 1))\n# old\n\(Self.line(2, 2))\n"

    @Test func aNewKeyComesFirstAndCommentsStay() throws {
        let (text, number) = try Keyring.addingKey(to: self.text)
        #expect(number == 8)
        #expect(try Keyring(text: text).numbers == [8, 7, 2])
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first == "# mine")
        #expect(lines.dropFirst(2).joined(separator: "\n") == self.text.dropFirst("# mine\n".count))
        #expect(try Keyring.addingKey(to: self.text).text != text, "it is random")
    }

    @Test func removingAKeyChangesNothingElse() throws {
        let text = try Keyring.removingKey(2, from: self.text)
        #expect(text == "# mine\n\(Self.line(7, 1))\n# old\n")
    }

    @Test func encryptingOrMissingKeyCannotBeRemoved() {
        #expect(throws: KeyTextError.sealing(7)) { try Keyring.removingKey(7, from: self.text) }
        #expect(throws: KeyTextError.missing(3)) { try Keyring.removingKey(3, from: self.text) }
        #expect(throws: KeyTextError.full) { try Keyring.addingKey(to: Self.line(.max, 1)) }
    }

    @Test func checkValueDependsOnTheKeyOnly() throws {
        let keyring = try Keyring(text: self.text)
        let values = keyring.numbers.compactMap { keyring.checkValue(of: $0) }
        #expect(Set(values).count == 2)
        #expect(values.allSatisfy { $0.count == 16 })
        #expect(keyring.checkValue(of: 3) == nil)
        #expect(try Keyring(text: Self.line(9, 2)).checkValue(of: 9) == values[1])
    }

    @Test func hashesDependOnSecretAndKindButNotOnSpelling() throws {
        let (one, two) = (BlindIndex(IndexSecret()), BlindIndex(IndexSecret()))
        let (name, same) = try (#require(Username("Alice")), #require(Username("aLICE")))
        let (tag, handle) = try (#require(Tag("alice")), #require(DeviceHandle("alice")))
        #expect(one.hash(name) == one.hash(same))
        #expect(Set([one.hash(name), one.hash(tag), one.hash(handle), two.hash(name)]).count == 4)
        #expect(one.hash(name).count == BlindIndex.length)
    }
}
