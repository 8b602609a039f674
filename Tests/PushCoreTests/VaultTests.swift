import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct VaultTests {
    private let secret = Data("the payload".utf8)

    private func keyring(_ numbers: [Int], keys: [UInt8] = [1, 2, 3]) throws -> Keyring {
        let lines = numbers.map { number in
            "\(number) \(Data(repeating: keys[number - 1], count: 32).base64EncodedString())"
        }
        return try Keyring(text: lines.joined(separator: "\n"))
    }

    private func vault(_ numbers: Int..., keys: [UInt8] = [1, 2, 3]) throws -> Vault {
        Vault(try self.keyring(numbers, keys: keys))
    }

    private func place(_ id: Int64, sender: Int64 = 1) throws -> SealedPlace {
        .payload(try #require(NotificationID(rawValue: id)), sender: sender)
    }

    @Test func valueDecryptsInItsPlace() throws {
        let vault = try vault(1)
        let sealed = try vault.seal(self.secret, in: place(7))
        #expect(try vault.open(sealed, in: place(7)) == self.secret)
        #expect(sealed.range(of: self.secret) == nil)
    }

    @Test func equalValuesEncryptDifferently() throws {
        let vault = try vault(1)
        #expect(try vault.seal(self.secret, in: place(7)) != vault.seal(self.secret, in: place(7)))
    }

    @Test func valueDoesNotDecryptInAnotherRowOrColumn() throws {
        let vault = try vault(1)
        var places =
            [1, 2].flatMap { [.username($0), .handle($0), .tags($0), .expressions($0), .audit($0)] } as [SealedPlace]
        places += [try self.place(1), try self.place(2), try self.place(1, sender: 2), .indexSecret]
        for place in places {
            let sealed = try vault.seal(self.secret, in: place)
            for other in places where other != place {
                #expect(throws: VaultError.unreadable) { try vault.open(sealed, in: other) }
            }
            #expect(try vault.open(sealed, in: place) == self.secret)
        }
    }

    @Test func exchangedKeyringEncryptsNewAndDecryptsOldValues() throws {
        let vault = try vault(1)
        let old = try vault.seal(self.secret, in: place(7))
        vault.replaceKeyring(try self.keyring([2, 1]))
        let new = try #require(try vault.renewed(old, in: place(7)))
        #expect(try vault.renewed(new, in: place(7)) == nil)
        #expect(try vault.open(old, in: place(7)) == self.secret)
        vault.replaceKeyring(try self.keyring([2]))
        #expect(try vault.open(new, in: place(7)) == self.secret)
        #expect(throws: VaultError.keyMissing(1)) { try vault.open(old, in: self.place(7)) }
        #expect(vault.takeSeals() == [1: 1, 2: 1])
        #expect(vault.takeSeals().isEmpty)
    }

    @Test func everyFlippedBitIsNoticed() throws {
        let vault = try vault(1)
        let sealed = try vault.seal(self.secret, in: place(7))
        for index in sealed.indices {
            for bit in 0..<8 {
                var damaged = sealed
                damaged[index] ^= 1 << bit
                #expect(throws: VaultError.self) { try vault.open(damaged, in: self.place(7)) }
            }
        }
    }

    @Test func everyTruncationIsNoticed() throws {
        let vault = try vault(1)
        let sealed = try vault.seal(self.secret, in: place(7))
        for length in 0..<sealed.count {
            #expect(throws: VaultError.self) { try vault.open(sealed.prefix(length), in: self.place(7)) }
        }
    }

    @Test func firstKeyEncryptsAndAllKeysDecrypt() throws {
        let sealed = try vault(1).seal(self.secret, in: place(7))
        #expect(try self.vault(2, 1).open(sealed, in: place(7)) == self.secret)
        #expect(throws: VaultError.keyMissing(1)) { try self.vault(2).open(sealed, in: self.place(7)) }
        #expect(throws: VaultError.unreadable) {
            try self.vault(1, keys: [9]).open(sealed, in: self.place(7))
        }
    }

    @Test(arguments: [
        ("", KeyTextError.empty), ("# nothing\n\n", .empty), ("1", .malformed(line: 1)),
        ("x AAAA", .malformed(line: 1)),
        ("0 \(Data(count: 32).base64EncodedString())", .malformed(line: 1)),
        ("# one\n1 AAAA", .malformed(line: 2)), ("1 \(Data(count: 31).base64EncodedString())", .malformed(line: 1)),
        (String(repeating: "1 \(Data(count: 32).base64EncodedString())\n", count: 2), .repeated(1)),
    ])
    func aBadKeyringIsRefusedWithItsReason(text: String, error: KeyTextError) {
        #expect(throws: error) { try Keyring(text: text) }
    }

    @Test func aGeneratedKeyringIsRandomAndCanBeUsed() throws {
        let (first, second) = (Keyring.generateText(), Keyring.generateText())
        #expect(first != second)
        let vault = Vault(try Keyring(text: first))
        #expect(try vault.open(vault.seal(self.secret, in: place(1)), in: place(1)) == self.secret)
    }
}

@Suite(.timeLimit(.minutes(5))) struct PasswordHashTests {
    @Test func onlyThePasswordMatchesItsHash() throws {
        let hash = try PasswordHash(of: "correct horse")
        #expect(hash.phc.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
        #expect(hash.matches("correct horse"))
        #expect(!hash.matches("correct horsf"))
        #expect(!hash.matches(""))
    }

    /// The command `argon2` of the reference library made this hash.
    @Test func aHashOfTheReferenceCommandMatches() {
        let phc = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
        #expect(PasswordHash(phc: phc).matches("password"))
        #expect(!PasswordHash(phc: phc).matches("Password"))
    }

    @Test(arguments: ["", "1234567", String(repeating: "x", count: 257)])
    func aPasswordOutOfBoundsIsRefused(password: String) {
        #expect(throws: PasswordError.length) { try PasswordHash(of: password) }
    }

    @Test(arguments: ["\u{0}12345678", "1234\n5678", "1234567\u{7F}"])
    func aPasswordWithControlCharactersIsRefused(password: String) {
        #expect(throws: PasswordError.controlCharacter) { try PasswordHash(of: password) }
    }

    @Test(arguments: ["", "x", "$argon2id$", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$"])
    func damagedHashMatchesNoPassword(phc: String) {
        #expect(!PasswordHash(phc: phc).matches("password"))
    }
}
