import Foundation
import Testing

@testable import PushCore

/// The PHC string, which is the text form of a password hash, and how the server reads it.
@Suite(.timeLimit(.minutes(5))) struct PHCStringTests {
    private static let salt = "c2VhbHBvc3QtdGVzdGluZw"
    private static let digest = "NYTYUry8ig4Rbly189AQQqu+5dCLc7aNovw1CUhckrI"

    private static func phc(
        _ parameters: String = "m=8,t=1,p=1",
        start: String = "$argon2id$v=19",
        salt: String = Self.salt,
        digest: String = Self.digest
    ) -> String {
        "\(start)$\(parameters)$\(salt)$\(digest)"
    }

    private static func text(_ count: Int) -> String {
        String(Data(repeating: 7, count: count).base64EncodedString().prefix { $0 != "=" })
    }

    @Test(arguments: [
        ("m=8,t=1,p=1", 8, 1, 1), ("m=19456,t=2,p=1", 19_456, 2, 1), ("m=128,t=64,p=16", 128, 64, 16),
        ("m=1048576,t=64,p=16", 1_048_576, 64, 16),
    ])
    func theParametersAreRead(text: String, memory: Int, passes: Int, lanes: Int) {
        let parameters = PasswordHash(phc: Self.phc(text)).parameters
        #expect(parameters != nil)
        #expect(parameters == PasswordParameters(memory: memory, passes: passes, lanes: lanes))
        #expect(parameters?.description == text)
    }

    static let wrong =
        [
            "m=08,t=1,p=1", "m=+8,t=1,p=1", "m=-8,t=1,p=1", "m= 8,t=1,p=1", "m=,t=1,p=1", "m=8,t=1", "t=1,m=8,p=1",
            "m=8,t=1,p=1,", "m=8,t=1,p=1,keyid=AAAA", "M=8,t=1,p=1", "m=8;t=1;p=1", "m=0x8,t=1,p=1", "m=٨,t=1,p=1",
            // Hashes whose costs no server should have to compute, or that Argon2 does not allow.
            "m=1048577,t=1,p=1", "m=4294967304,t=1,p=1", "m=18446744073709551624,t=1,p=1", "m=8,t=65,p=1",
            "m=8,t=4294967297,p=1", "m=8,t=0,p=1", "m=7,t=1,p=1", "m=8,t=1,p=0", "m=136,t=1,p=17", "m=15,t=1,p=2", "",
        ].map { Self.phc($0) }
        + [
            Self.phc(start: "$argon2i$v=19"), Self.phc(start: "$argon2d$v=19"), Self.phc(start: "$argon2id$v=16"),
            Self.phc(start: "$argon2id"), Self.phc(start: "argon2id$v=19"), Self.phc(start: "$ARGON2ID$v=19"),
            Self.phc(start: "$2b$12"), Self.phc() + "$", Self.phc() + "\n", " " + Self.phc(), Self.phc() + "\u{0}",
            Self.phc(salt: Self.text(7)), Self.phc(salt: Self.text(49)), Self.phc(salt: ""),
            Self.phc(salt: Self.salt + "=="), Self.phc(salt: "c2VhbHBvc3QtdGVzdGluZx"),
            Self.phc(digest: Self.text(11)), Self.phc(digest: Self.text(65)), Self.phc(digest: ""),
            Self.phc(digest: Self.digest.replacing("+", with: "-")), Self.phc(digest: Self.digest + "="),
            Self.phc(digest: Self.digest.dropLast() + "J"), Self.phc(digest: Self.digest.dropLast() + "é"),
            Self.phc(digest: String(repeating: "A", count: 100_000)), String(repeating: "$", count: 100_000), "$$$$$",
            "none", "",
        ]

    @Test(arguments: Self.wrong)
    func malformedHashMatchesNoPassword(phc: String) {
        let hash = PasswordHash(phc: phc)
        #expect(hash.parameters == nil)
        #expect(!hash.matches("pass: wörd: 123"))
        #expect(!hash.needsRehash(for: .usual))
    }

    @Test(arguments: [(8, 12), (16, 32), (48, 64)])
    func saltsAndDigestsHaveTheirLengths(salt: Int, digest: Int) {
        let phc = Self.phc(salt: Self.text(salt), digest: Self.text(digest))
        #expect(PHCString(phc)?.description == phc)
    }

    @Test func parsedHashIsWrittenAsItWas() {
        let phc = Array(Self.phc().utf8)
        for index in phc.indices {
            for byte in UInt8(0x20)...0x7E {
                var other = phc
                other[index] = byte
                let text = String(decoding: other, as: UTF8.self)
                if let read = PHCString(text) { #expect(read.description == text) }
            }
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct PasswordParametersTests {
    @Test(arguments: [
        (19_456, 2, 1, true), (19_455, 2, 1, false), (19_456, 1, 1, false), (47_104, 1, 1, true), (47_103, 1, 1, false),
        (12_288, 3, 1, true), (12_287, 3, 1, false), (9216, 4, 1, true), (9215, 4, 1, false), (7168, 5, 1, true),
        (7167, 64, 1, false), (1_048_576, 64, 16, true), (65_536, 3, 4, true), (8, 64, 1, false),
    ])
    func strengthFollowsOWASP(memory: Int, passes: Int, lanes: Int, isStrong: Bool) throws {
        let parameters = try #require(PasswordParameters(memory: memory, passes: passes, lanes: lanes))
        #expect(parameters.isStrongEnough == isStrong)
    }

    @Test(arguments: [
        ((19_456, 2, 1), (19_456, 2, 1), false), ((19_455, 2, 1), (19_456, 2, 1), true),
        ((19_456, 1, 1), (19_456, 2, 1), true), ((19_456, 2, 1), (19_456, 2, 2), true),
        ((65_536, 3, 4), (19_456, 2, 1), false), ((65_536, 1, 4), (19_456, 2, 1), true),
    ])
    func hashIsRenewedIfAnyParameterIsWeaker(
        stored: (Int, Int, Int),
        wanted: (Int, Int, Int),
        isWeaker: Bool
    ) throws {
        let own = try #require(PasswordParameters(memory: stored.0, passes: stored.1, lanes: stored.2))
        let other = try #require(PasswordParameters(memory: wanted.0, passes: wanted.1, lanes: wanted.2))
        #expect(PasswordHash.decoy(own).needsRehash(for: other) == isWeaker)
    }

    @Test func hashWithAShortSaltOrDigestIsRenewed() {
        let phc = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
        let parameters = PasswordHash(phc: phc).parameters
        #expect(parameters.map { PasswordHash(phc: phc).needsRehash(for: $0) } == true)
    }

    @Test func decoyCostsTheSameAndMatchesNoPassword() throws {
        let parameters = try #require(PasswordParameters(memory: 16, passes: 3, lanes: 2))
        let (one, other) = (PasswordHash.decoy(parameters), PasswordHash.decoy(parameters))
        #expect(one.parameters == parameters)
        #expect(one != other)
        for password in ["", "password", one.phc] { #expect(!one.matches(password)) }
    }
}

/// The passwords that users may choose.
@Suite(.timeLimit(.minutes(5))) struct ChosenPasswordTests {
    private let alice: Username
    private let parameters: PasswordParameters

    init() throws {
        self.alice = try #require(Username("Alice.Cooper"))
        self.parameters = try #require(PasswordParameters(memory: 8, passes: 1, lanes: 1))
    }

    private func choose(_ password: String) throws(PasswordError) -> PasswordHash {
        try PasswordHash(of: password, chosenFor: self.alice, parameters: self.parameters)
    }

    @Test(arguments: [
        "12345678", "password", "Password", "PASSWORD1", "iloveyou", "Trustno1", "qwertyuiop", "baseball", "11111111",
        "1qaz2WSX", "BullShit",
    ])
    func commonPasswordsAreRefusedInAnyCase(password: String) {
        #expect(throws: PasswordError.tooCommon) { try self.choose(password) }
    }

    @Test(arguments: ["alice.cooper", "Alice.Cooper", "ALICE.COOPER"])
    func theUsersOwnNameIsRefusedInAnyCase(password: String) {
        #expect(throws: PasswordError.name) { try self.choose(password) }
    }

    @Test(arguments: [
        ("", PasswordError.length), ("1234567", .length), ("ééé", .length), ("🔐🔐🔐🔐🔐🔐🔐", .length),
        (String(repeating: "é", count: 129), .length),
        (String(repeating: "x", count: 1_000_000), .length), ("1234567\n", .controlCharacter),
        ("\u{0}password", .controlCharacter), ("password\u{7F}", .controlCharacter),
    ])
    func invalidPasswordsAreRefused(password: String, error: PasswordError) {
        #expect(throws: error) { try self.choose(password) }
    }

    @Test(arguments: [
        "éééééééé", "🔐🔐🔐🔐🔐🔐🔐🔐", "        ", " password", "password ", "pass word", "alice.cooper!", "passwordpassword!",
        String(repeating: "é", count: 128), "e\u{301}e\u{301}e\u{301}e\u{301}", "\u{301}1234567",
    ])
    func otherPasswordsAreAcceptedByteForByte(password: String) throws {
        let hash = try self.choose(password)
        #expect(hash.parameters == self.parameters)
        #expect(hash.matches(password))
        for other in [password + " ", " " + password, password.uppercased() + "x", String(password.dropFirst())] {
            #expect(!hash.matches(other))
        }
    }

    @Test func formsOfALetterAreDifferentPasswords() throws {
        #expect(try !self.choose("passwörd!").matches("passwo\u{308}rd!"))
        #expect(try !self.choose("Passwort!").matches("passwort!"))
        #expect(try !self.choose("ﬁnestra!!").matches("finestra!!"))
    }

    @Test func listHasTheMostCommonPermittedPasswords() {
        let all = CommonPasswords.all.map { String(decoding: $0, as: UTF8.self) }
        #expect(all.count >= 3000)
        #expect(Set(all).count == all.count)
        for word in all {
            #expect((8...PasswordHash.maximumLength).contains(word.utf8.count) && word == word.lowercased())
        }
        for index in stride(from: 0, to: all.count, by: 100) {
            #expect(throws: PasswordError.tooCommon) { try self.choose(all[index].uppercased()) }
        }
    }

    @Test func tooLongPasswordIsRefusedAtOnce() throws {
        // Computing a hash with these parameters would take a minute, so the test shows that no
        // hash is computed.
        let parameters = try #require(PasswordParameters(memory: 1_048_576, passes: 64, lanes: 16))
        let long = String(repeating: "x", count: 257)
        #expect(!PasswordHash.decoy(parameters).matches(long))
        #expect(!PasswordHash(phc: "none").matches(long))
    }
}
