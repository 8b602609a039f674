import Cryptography
import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct BearerTokenTests {
    /// A Python program made this token. Its checksum is `zlib.crc32` in base 62.
    static let sample = "spt_0000000000000000000000000000000000002V8kkg"

    @Test func aTokenIsMadeOfLettersAndDigitsAndIsReadAgain() throws {
        let token = BearerToken.random()
        #expect(token.text.exposed.wholeMatch(of: /spt_[0-9A-Za-z]{42}/) != nil)
        let read = try #require(BearerToken(token.text.exposed))
        #expect(read.prefix == token.prefix)
        #expect(read.fingerprint == token.fingerprint)
    }

    @Test func tokensDifferInAllTheirPlaces() {
        let tokens = (0..<1000).map { _ in Array(BearerToken.random().text.exposed.utf8) }
        for place in 4..<40 {
            #expect(Set(tokens.map { $0[place] }).count == 62, "place \(place)")
        }
    }

    @Test func checksumMatchesOtherPrograms() {
        #expect(BearerToken(Self.sample) != nil)
    }

    @Test(arguments: [
        "", "spt_", String(sample.dropLast()), sample + "0", sample.lowercased(),
        sample.replacing("spt_", with: "spu_"),
        sample.replacing("spt_00", with: "spt_01"), sample.replacing("spt_00", with: "spt_é"), " " + sample,
        String(repeating: "x", count: 100_000),
    ])
    func invalidTokensAreRefused(text: String) {
        #expect(BearerToken(text) == nil)
    }

    @Test func tokenIsNeverPrinted() {
        let token = BearerToken.random()
        var dumped = "\(token) \(String(reflecting: token))"
        dump(token, to: &dumped)
        #expect(!dumped.contains(token.text.exposed.dropFirst(12)))
        #expect(dumped.contains(token.prefix.description), "what may be shown is shown")
    }

    @Test(arguments: ["spt_ABCDefg", "spt_ABCDefg12", "spu_ABCDefg1", "spt_ABCDef-1", "", "spt_ABCDefé"])
    func invalidPrefixesAreRefused(text: String) {
        #expect(TokenPrefix(text) == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct FingerprintTests {
    private func expect(_ fingerprint: Fingerprint, is expected: String) {
        #expect(fingerprint.bytes.map { String(format: "%02x", $0) }.joined() == expected)
        #expect(Fingerprint(bytes: fingerprint.bytes) == fingerprint)
    }

    /// The example of FIPS 180-2, appendix B.1.
    @Test func fingerprintIsTheHashOfTheText() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        self.expect(Fingerprint(of: "abc"), is: expected)
    }

    /// The test case of RFC 4231 section 4.3.
    @Test func keyedFingerprintIsTheHMACOfTheText() {
        let code = KeyedHash(key: SymmetricKey(data: Data("Jefe".utf8)))
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        for _ in 0..<2 { self.expect(Fingerprint(of: "what do ya want for nothing?", code: code), is: expected) }
        #expect(Fingerprint(of: "abc", code: code) != Fingerprint(of: "abc"))
    }

    @Test(arguments: [0, 31, 33])
    func fingerprintsOfOtherLengthsAreRefused(length: Int) {
        #expect(Fingerprint(bytes: Data(count: length)) == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct ScopesTests {
    @Test func scopesAreReadAsTheyAreWritten() {
        for value in UInt8(0)...63 {
            let scopes = Scopes(rawValue: value)
            #expect(Scopes(scopes.description) == scopes)
        }
        #expect(Scopes.all.description == "fetch send register manage view metrics")
    }

    @Test(arguments: ["Fetch", "", "admin", "fetch send"])
    func invalidScopesAreRefused(name: String) {
        #expect(Scopes(named: name) == nil)
    }

    @Test func unknownScopeAllowsNothing() {
        #expect(Scopes("fetch everything  send") == [.fetch, .send])
    }

    @Test(arguments: [["manage"], ["fetch", "manage"], [], ["fetch", "fly"]])
    func roleHasItsOwnScopesOnly(names: [String]) throws {
        let error = #expect(throws: ScopeError.self) { try Role.device.scopes(named: names) }
        #expect("\(try #require(error))" == "a token of a device can have one or more of fetch, send, register")
        #expect(try Role.admin.scopes(named: ["manage", "fetch", "fetch"]) == [.fetch, .manage])
    }

    @Test(arguments: Role.allCases)
    func aRoleHasTheScopesOfADeviceAndItsOwn(role: Role) {
        #expect(role.usualScopes == [.fetch, .send, .register])
        #expect(role.scopes.isSuperset(of: role.usualScopes))
        #expect(role.scopes.contains(.manage) == [.publisher, .admin].contains(role))
        #expect(role.scopes.contains(.view) == role.seesAll)
        #expect(role.scopes.contains(.metrics) == role.seesAll)
    }
}
