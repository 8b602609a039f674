import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct UsernameTests {
    @Test(arguments: ["a", "Alice", "a.b-c_d@e#f", "alice+push@example.com", String(repeating: "x", count: 100)])
    func validNamesAreAccepted(text: String) {
        #expect(Username(text)?.description == text)
    }

    @Test(arguments: ["", "a:b", "a b", "é", "a/b", "a\n", String(repeating: "x", count: 101)])
    func invalidNamesAreRefused(text: String) {
        #expect(Username(text) == nil)
    }

    @Test func namesAreComparedWithoutCase() throws {
        #expect(try #require(Username("Alice")) == #require(Username("aLICE")))
    }

    /// Subjects in the tokens of issuers, and the user names that the server makes of them.
    @Test(arguments: [
        ("alina", "alina"), ("auth0|5f7c8e", "auth0#7c5f7c8e"), ("google-oauth2|104527", "google-oauth2#7c104527"),
        ("f:5e0c:alice", "f#3a5e0c#3aalice"), ("repo:acme/app:ref", "repo#3aacme#2fapp#3aref"),
        ("o'brien+x@example.com", "o#27brien+x@example.com"), ("Ada Å", "Ada#20#c3#85"), ("a\u{0}", "a#00"),
        ("a#b", "a#b"), ("a#7", "a#7"), ("#", "#"), ("##", "##"), ("a#7c", "a#237c"), ("a#7C", "a#237C"),
        ("a#237c", "a#23237c"), ("##7c", "##237c"), ("#|", "##7c"), ("a#2|", "a#2#7c"), ("#7#7c", "#7#237c"),
        ("A|", "A#7c"), (".", "."),
    ]) func subjectsAreEscaped(subject: String, name: String) throws {
        #expect(try #require(Username(escaping: subject)).description == name)
        #expect(try #require(Username(escaping: subject, after: "idp#")).description == "idp#\(name)")
    }

    /// The test tries all texts of one to four of the characters `#237c|`. The escaped forms of
    /// `#` and `|` consist of these characters.
    @Test func differentSubjectsHaveDifferentNames() throws {
        var texts = [""]
        var names: Set<String> = []
        for _ in 0..<4 {
            texts = texts.flatMap { text in ["#", "2", "3", "7", "c", "|"].map { text + $0 } }
            for text in texts { names.insert(try #require(Username(escaping: text)).description) }
        }
        #expect(names.count == 6 + 36 + 216 + 1296)
    }

    @Test func nameOfASubjectHasUpToAHundredCharacters() {
        #expect(Username(escaping: String(repeating: "|", count: 33) + "x")?.description.count == 100)
        #expect(Username(escaping: String(repeating: "|", count: 33) + "xx") == nil)
        #expect(Username(escaping: String(repeating: "x", count: 98), after: "id.") == nil)
        #expect(Username(escaping: String(repeating: "x", count: 1_000_000)) == nil)
        #expect(Username(escaping: "") == nil)
    }

    @Test func anAdministratorMayDoEverythingAndAViewerAndAPublisherDifferentThings() {
        for role in Role.allCases {
            #expect(Role.admin.includes(role) && role.includes(.device) && role.includes(role))
            #expect(role.includes(.admin) == (role == .admin))
            #expect(role.seesAll == [.viewer, .admin].contains(role))
        }
        #expect(!Role.viewer.includes(.publisher) && !Role.publisher.includes(.viewer))
    }
}

@Suite(.timeLimit(.minutes(5))) struct TagTests {
    @Test func tagsAreKeptInLowerCase() {
        #expect(Tag("News")?.description == "news")
    }

    @Test(arguments: ["", "a b", "é", "a,b", "a&b", String(repeating: "x", count: 121)])
    func invalidTagsAreRefused(text: String) {
        #expect(Tag(text) == nil)
    }

    @Test(arguments: ["username:alice", "USERNAME:alice", "from:bob"])
    func theServersOwnPrefixesAreReserved(text: String) throws {
        #expect(try #require(Tag(text)).isReserved)
    }
}

@Suite(.timeLimit(.minutes(5))) struct TagExpressionTests {
    private func tag(_ text: String) throws -> TagExpression {
        .tag(try #require(Tag(text)))
    }

    @Test func operatorsBindInTheOrderNotAndOr() throws {
        let (a, b, c) = (try tag("a"), try tag("b"), try tag("c"))
        #expect(try TagExpression("a || b && !c") == .or(a, .and(b, .not(c))))
        #expect(try TagExpression("(a||b)&&c") == .and(.or(a, b), c))
        #expect(try TagExpression("!!a") == .not(.not(a)))
        #expect(try TagExpression("username:a+b&&c") == .and(tag("username:a+b"), c))
        #expect(try TagExpression(" a && b && c ") == .and(.and(a, b), c))
    }

    @Test(arguments: ["", " ", "a b", "a &&", "&& a", "a & b", "(a", "a)", "!", "()", "a || || b", "a,b"])
    func invalidExpressionsAreRefused(text: String) {
        #expect(throws: TagExpression.Invalid.self) { try TagExpression(text) }
    }

    @Test func depthAndSizeAreBounded() {
        #expect(throws: TagExpression.Invalid.self) { try TagExpression(String(repeating: "(", count: 100_000)) }
        #expect(throws: TagExpression.Invalid.self) { try TagExpression(String(repeating: "!", count: 100_000) + "a") }
        let many = (0..<21).map { "t\($0)" }.joined(separator: "||")
        #expect(throws: TagExpression.Invalid.self) { try TagExpression(many) }
    }

    @Test func aUsersOwnTagIsTheUser() throws {
        #expect(try TagExpression("username:Alice").onlyUsername == Username("alice"))
        #expect(try TagExpression("!username:alice").onlyUsername == nil)
        #expect(try TagExpression("news").onlyUsername == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct DeviceTests {
    @Test func hexadecimalHandlesAreComparedWithoutCase() throws {
        #expect(try #require(DeviceHandle("ABCDEF12")) == #require(DeviceHandle("abcdef12")))
        #expect(try #require(DeviceHandle("ABCDEFG")) != #require(DeviceHandle("abcdefg")))
    }

    @Test(arguments: ["", "a b", "a\u{0}", "é", String(repeating: "x", count: 4097)])
    func invalidHandlesAreRefused(text: String) {
        #expect(DeviceHandle(text) == nil)
    }

    @Test func aMaskedHandleCannotBeSentTo() throws {
        #expect(try #require(DeviceHandle("0123456789abcdef")).masked == "0123…cdef")
        #expect(try #require(DeviceHandle("0123456789ab")).masked == "…")
    }

    @Test func gcmIsFCM() {
        #expect(Platform("gcm") == Platform("fcm"))
    }

    @Test(arguments: ["", ".", "..", "a/b", "a b", "a:b", "é", String(repeating: "x", count: 129)])
    func invalidRegistrationIDsAreRefused(text: String) {
        #expect(RegistrationID(text) == nil)
    }

    @Test func newRegistrationIDsDiffer() {
        let ids = Set((0..<100).map { _ in RegistrationID.random() })
        #expect(ids.count == 100)
        #expect(ids.allSatisfy { $0.description.count == 32 })
    }

    @Test func aSecretPrintsAsNothing() {
        let secret = Secret("hunter2")
        #expect(!"\(secret) \(String(reflecting: secret))".contains("hunter2"))
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!dumped.contains("hunter2"))
    }
}

@Suite(.timeLimit(.minutes(5))) struct AttemptIDTests {
    @Test func anAttemptsIDIsAUUIDOfVersion8ThatDependsOnSeedAndDevice() {
        let id = Push.attemptID(seed: 1, device: 2)
        #expect(id == Push.attemptID(seed: 1, device: 2))
        #expect(Set([id, Push.attemptID(seed: 2, device: 2), Push.attemptID(seed: 1, device: 1)]).count == 3)
        #expect(id.text == id.uuidString.lowercased())
        #expect(id.text.contains(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/))
    }
}
