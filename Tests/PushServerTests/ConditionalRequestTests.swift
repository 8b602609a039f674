import CivilTime
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Conditional requests (RFC 9110 section 13) for answers with an entity tag or a time of change.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct ConditionalRequestTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func post() async throws -> String {
        try await self.fixture.post(#"{"Payload":"x","To":["username:alice","username:bob"]}"#)
    }

    private func get(_ path: String, user: String = "alice", _ headers: [(String, String)] = []) async throws
        -> Response
    {
        try await self.fixture.send(.get, path, user: user, headers: headers)
    }

    // MARK: The tag

    @Test func theEntityTagIsStrongQuotedAndStable() async throws {
        let path = try await self.post()
        let tag = try #require(try await self.get(path).fields[.eTag])
        #expect(tag.wholeMatch(of: /"[0-9]+-u[0-9]{13}-[0-9A-Za-z_-]{22}"/) != nil, "\(tag)")
        self.fixture.clock.advance(by: 1000)
        #expect(try await self.get(path).fields[.eTag] == tag)
        #expect(try await self.fixture.send(.head, path).fields[.eTag] == tag)
    }

    @Test func theEntityTagDiffersByUserAndNotification() async throws {
        let (one, two) = (try await self.post(), try await self.post())
        var tags: [String?] = []
        for path in [one, two] {
            for user in ["alice", "bob", "paul"] { tags.append(try await self.get(path, user: user).fields[.eTag]) }
        }
        #expect(!tags.contains(nil))
        #expect(Set(tags).count == 6)
    }

    /// The test includes a caller without an account, for which `account` is `nil`.
    @Test func theEntityTagDependsOnIDTimeReadStateAndAccountID() throws {
        func tag(_ id: Int64, isRead: Bool = false, at time: Int64, account: AccountID? = nil) throws -> String {
            let (id, date) = (try #require(NotificationID(rawValue: id)), Date(milliseconds: time))
            return NotificationTag(id: id, account: account, isRead: isRead, createdAt: date).entityTag.description
        }
        #expect(try tag(7, at: 5) == #""7-u5""#)
        #expect(try tag(7, isRead: true, at: 5, account: AccountID(text: "me")) == #""7-r5-me""#)
        let account = AccountID(text: String(repeating: "a", count: 22))
        var longest = NotificationTag(
            id: try #require(NotificationID(rawValue: .max)),
            account: account,
            isRead: false,
            createdAt: Date(milliseconds: .min)
        )
        longest.deviceKey = Array(account.text.utf8)
        #expect(longest.entityTag.description.utf8.count <= NotificationTag.maximumBytes)
    }

    // MARK: If-None-Match

    /// `TAG` stands for the notification's entity tag.
    @Test(arguments: [
        "TAG", "W/TAG", "*", " TAG ", #""other", TAG"#, #"TAG, "other""#, #""a,b",TAG"#, #"W/"a, \", TAG"#, ",,TAG,,",
        "\"\", TAG", #""other",W/TAG"#, "*,\u{301}",
        "\"\u{301}a\", TAG", "\"a\u{301}\", TAG",
    ])
    func aMatchingEntityTagGetsNotModified(list: String) async throws {
        let path = try await self.post()
        let full = try await self.get(path)
        let tag = try #require(full.fields[.eTag])
        let response = try await self.get(path, [("If-None-Match", list.replacing("TAG", with: tag))])
        #expect(response.status == .notModified)
        #expect(response.body.isEmpty)
    }

    @Test(arguments: [
        #""other""#, #"W/"other""#, "", ",", "BARE", "w/TAG", "W/ TAG", "garbage, TAG", #""unterminated"#,
        #""a"x, TAG"#,
        "W/*", "**", #""*""#, "\"TAG\"", "'BARE'",
    ])
    func anotherEntityTagGetsTheFullAnswer(list: String) async throws {
        let path = try await self.post()
        let tag = try #require(try await self.get(path).fields[.eTag])
        let bare = String(tag.dropFirst().dropLast())
        let list = list.replacing("TAG", with: tag).replacing("BARE", with: bare)
        let response = try await self.get(path, [("If-None-Match", list)])
        #expect(response.status == .ok)
        #expect(try response.json["Payload"] == .string("x"))
    }

    @Test func aListOfEntityTagsMaySpanFields() async throws {
        let path = try await self.post()
        let tag = try #require(try await self.get(path).fields[.eTag])
        let headers = [("If-None-Match", #""other""#), ("if-none-match", tag)]
        #expect(try await self.get(path, headers).status == .notModified)
    }

    @Test func theEntityTagOfAnotherUserDoesNotMatch() async throws {
        let path = try await self.post()
        let tag = try #require(try await self.get(path, user: "bob").fields[.eTag])
        #expect(try await self.get(path, [("If-None-Match", tag)]).status == .ok)
    }

    // MARK: If-Modified-Since

    /// `seconds` is the time from the notification's creation to the date in `If-Modified-Since`.
    @Test(arguments: [-1000, -1, 0, 1, 1000], DateForm.allCases)
    func aDateAfterTheLastChangeGetsNotModified(seconds: Int, form: DateForm) async throws {
        let path = try await self.post()
        let date = form.text(self.fixture.clock.now + TimeInterval(seconds))
        self.fixture.clock.advance(by: 2)
        let response = try await self.get(path, [("If-Modified-Since", date)])
        // A date in the second of the notification's creation does not prove that the client has
        // the newest version. The notification could have changed later in that second.
        #expect(response.status == (seconds >= 1 ? .notModified : .ok), "\(date)")
    }

    @Test(arguments: [(0, false), (0.4, false), (0.9, false), (1, true), (1.5, true)])
    func aDateIsAValidatorOnlyASecondAfterTheLastChange(seconds: TimeInterval, isOne: Bool) async throws {
        let path = try await self.post()
        let created = self.fixture.clock.now
        self.fixture.clock.advance(by: seconds)
        #expect(try await self.get(path).fields[.lastModified] == (isOne ? HTTPDate(created + 1).description : nil))
        let date = DateForm.fixed.text(created + 1000)
        #expect(try await self.get(path, [("If-Modified-Since", date)]).status == (isOne ? .notModified : .ok))
    }

    @Test(arguments: ["", "yesterday", "1800000000", "Sun, 06 Nov 2094 08:49:37", "Sun, 32 Nov 2094 08:49:37 GMT"])
    func anInvalidDateIsIgnored(date: String) async throws {
        let path = try await self.post()
        #expect(try await self.get(path, [("If-Modified-Since", date)]).status == .ok)
    }

    @Test func twoDatesAreIgnored() async throws {
        let date = ("If-Modified-Since", DateForm.fixed.text(self.fixture.clock.now))
        #expect(try await self.get(try await self.post(), [date, date]).status == .ok)
    }

    @Test func aDateIsIgnoredNextToIfNoneMatch() async throws {
        let path = try await self.post()
        let date = DateForm.fixed.text(self.fixture.clock.now)
        for list in [#""other""#, "", "garbage"] {
            let headers = [("If-Modified-Since", date), ("If-None-Match", list)]
            #expect(try await self.get(path, headers).status == .ok)
        }
        let old = DateForm.fixed.text(self.fixture.clock.now - 1000)
        #expect(try await self.get(path, [("If-Modified-Since", old), ("If-None-Match", "*")]).status == .notModified)
    }

    // MARK: 304

    @Test(arguments: [HTTPRequest.Method.get, .head])
    func notModifiedHasTheFieldsOfTheRFCAndNoOthers(method: HTTPRequest.Method) async throws {
        let path = try await self.post()
        let full = try await self.get(path)
        let response = try await self.fixture.send(method, path, headers: [("If-None-Match", "*")])
        #expect(response.status == .notModified)
        #expect(response.body.isEmpty)
        for name in [HTTPField.Name.eTag, .cacheControl, .expires, .vary] {
            #expect(response.fields[name] == full.fields[name])
            #expect(response.fields[name] != nil)
        }
        let rest: Set<HTTPField.Name> = [
            .eTag, .cacheControl, .expires, .vary, .requestID, .contentTypeOptions, .crossOriginResourcePolicy,
            .referrerPolicy, .account,
        ]
        #expect(Set(response.fields.lines.map(\.name)) == rest)
    }

    @Test func notModifiedRenewsTheFreshnessLifetime() async throws {
        let path = try await self.post()
        self.fixture.clock.advance(by: 500)
        let response = try await self.get(path, [("If-None-Match", "*")])
        #expect(response.fields[.expires] == HTTPDate(self.fixture.clock.now + 60).description)
    }

    @Test func notModifiedRepeatsNoStore() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"Store":"never"}"#, user: "alice")
        let response = try await self.get(path, [("If-None-Match", "*")])
        #expect(response.status == .notModified)
        #expect(response.fields[.cacheControl] == "no-store")
    }

    @Test(arguments: ["If-None-Match", "If-Modified-Since"])
    func otherMethodsAndResourcesIgnoreConditions(name: String) async throws {
        let value = name == "If-None-Match" ? "*" : DateForm.fixed.text(self.fixture.clock.now)
        let response = try await self.fixture.send(.get, "/api/register", headers: [(name, value)])
        #expect(response.status == .ok)
        #expect(try await self.fixture.send(.post, "/api/notifications", headers: [(name, value)]).status == .ok)
    }
}

/// The three date formats of RFC 9110 section 5.6.7.
enum DateForm: String, CaseIterable, Sendable {
    case fixed = "%a, %d %b %Y %H:%M:%S GMT"
    case rfc850 = "%A, %d-%b-%y %H:%M:%S GMT"
    case asctime = "%a %b %e %H:%M:%S %Y"

    func text(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let length = strftime(&text, text.count, self.rawValue, &parts)
        return String(decoding: text.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
