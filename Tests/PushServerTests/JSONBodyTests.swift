import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The server's answers to request bodies that are not JSON, or not the JSON that the route
/// expects.
@Suite(.timeLimit(.minutes(5))) struct JSONBodyTests {
    static let routes: [(method: HTTPRequest.Method, target: String)] = [
        (.put, "/api/register/one"), (.post, "/api/notifications"), (.post, "/api/users"),
    ]

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    /// Sends the body to each route in `routes`, and checks the answer.
    private func each(_ body: String, _ check: (Response) throws -> Void) async throws {
        for (method, target) in Self.routes {
            try check(try await self.fixture.send(method, target, user: "ada", body: body))
        }
        #expect(self.fixture.wakeUps.count == 0)
    }

    @Test(arguments: [
        (" ", "a value is missing at byte 1"), ("{", "a member's name is missing at byte 1"),
        (#"{"a"}"#, "a colon is missing at byte 4"), (#"{"a":}"#, "unexpected character at byte 5"),
        (#"{"a":1"#, "the object is not terminated at byte 6"), (#"{"a":1,}"#, "a member's name is missing at byte 7"),
        (#"{"a":1} x"#, "unexpected data after the value at byte 8"),
        ("{}{}", "unexpected data after the value at byte 2"),
        (#"{"a":[1,2}"#, "the array is not terminated at byte 9"),
        (#"{"a":01}"#, "the object is not terminated at byte 6"),
        (#"{"a":.5}"#, "unexpected character at byte 5"), (#"{"a":1.}"#, "a digit is missing at byte 7"),
        (#"{"a":+1}"#, "unexpected character at byte 5"), (#"{"a":NaN}"#, "unexpected character at byte 5"),
        (#"{"a":tru}"#, "unexpected character at byte 5"), (#"{"a":"x}"#, "the string is not terminated at byte 8"),
        (#"{"a":"\x"}"#, "unknown escape at byte 8"), ("{'a':1}", "a member's name is missing at byte 1"),
        ("{\"a\":\"\n\"}", "a control character in a string at byte 6"),
        (#"{"a":"\ud800"}"#, "incomplete surrogate pair at byte 12"), (#"{"a":"\u12"}"#, "four hexadecimal digits"),
        ("\u{FEFF}{}", "unexpected character at byte 0; remove the byte order mark"),
        ("Payload=x&To=y", "unexpected character at byte 0; put a text in double quotes"),
        ("hello", "unexpected character at byte 0; put a text in double quotes"),
        ("<xml/>", "unexpected character at byte 0"), ("// x\n{}", "unexpected character at byte 0"),
    ])
    func invalidJSONIsReportedWithItsPosition(body: String, detail: String) async throws {
        try await self.each(body) { try $0.expectProblem(.invalidJSON, detail) }
    }

    @Test(arguments: [
        String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian, .utf32BigEndian,
    ])
    func anotherEncodingIsNamed(encoding: String.Encoding) async throws {
        for body in [#"{"Payload":1}"#, #""text""#] {
            let bytes = [UInt8](try #require(body.data(using: encoding)))
            for (method, target) in Self.routes {
                try await self.fixture.send(method, target, user: "ada", bytes: bytes)
                    .expectProblem(.invalidJSON, "; send it in UTF-8")
            }
        }
    }

    @Test(arguments: ["[", "{\"a\":", "[{\"a\":"])
    func endlessNestingIsRefused(opening: String) async throws {
        let body = String(repeating: opening, count: 100_000 / opening.utf8.count)
        try await self.each(body) { try $0.expectProblem(.invalidJSON, "more than 62 levels") }
    }

    @Test func nestingIsAcceptedUpToItsLimit() async throws {
        // The outermost value counts as the first level.
        let (deepest, tooDeep) = (Self.nested(61), Self.nested(62))
        #expect(try await self.fixture.send(.post, "/api/notifications", body: deepest).status == .created)
        // A list, which nests the payload more deeply, is read with the limit of the clients.
        let list = try await self.fixture.send(.get, "/api/notifications")
        #expect(try list.json["Notifications"] != nil)
        try await self.fixture.send(.post, "/api/notifications", body: tooDeep)
            .expectProblem(.invalidJSON, "more than 62 levels")
    }

    @Test(arguments: [("[]", "an array"), ("1", "a number"), ("null", "null"), ("true", "true or false")])
    func aBodyThatIsNotAnObjectIsRefusedWithItsKind(body: String, kind: String) async throws {
        try await self.each(body) { try $0.expectProblem(.invalidJSON, "the body is \(kind), not") }
    }

    @Test func aStringIsRefusedWhereAnObjectIsRequired() async throws {
        for (method, target) in Self.routes where target != "/api/notifications" {
            try await self.fixture.send(method, target, user: "ada", body: #""x""#)
                .expectProblem(.invalidJSON, "the body is a string, not an object")
        }
    }

    @Test func aMissingBodyIsReported() async throws {
        for (method, target) in Self.routes where target != "/api/notifications" {
            try await self.fixture.send(method, target, user: "ada").expectProblem(.invalidJSON, "a value is missing")
        }
    }

    @Test(arguments: [" {} ", "\r\n\t{\"x\":{}}", #"{"a":1,"b":[1,"2",{"c":null}]}"#])
    func blanksAndUnknownMembersAreIgnored(body: String) async throws {
        try await self.each(body) { try $0.expectProblem(.invalidMember, "is missing") }
    }

    @Test(arguments: [nil, "text/plain", "application/xml", "application/json; charset=latin1"])
    func theContentTypeIsIgnored(type: String?) async throws {
        let headers = type.map { [("Content-Type", $0)] } ?? []
        let response = try await self.fixture.send(
            .post,
            "/api/notifications",
            headers: headers,
            body: #"{"Payload":1}"#
        )
        #expect(response.status == .created)
    }

    @Test func bytesThatAreNotUTF8AreRefused() async throws {
        let bytes = Array(#"{"Payload":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        let response = try await self.fixture.send(.post, "/api/notifications", bytes: bytes)
        try response.expectProblem(.invalidJSON, "not UTF-8")
    }

    private static func nested(_ levels: Int) -> String {
        #"{"Payload":"# + String(repeating: "[", count: levels) + String(repeating: "]", count: levels) + "}"
    }
}
