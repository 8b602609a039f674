import Foundation
import HTTPTypes
import PushAPI
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The server accepts or refuses the JSON documents of the table, and returns the accepted ones in
/// the expected form.
@Suite(.timeLimit(.minutes(5))) struct JSONTableTests {
    private struct Question: Encodable {
        let document: Data
    }

    private struct Verdict: Decodable {
        /// The value that CPython read, in a canonical spelling; `nil` if CPython refuses the
        /// document.
        let value: String?
    }

    @Test func theTableIsLargeAndHasAllKinds() {
        #expect(JSONSample.all.count >= 120)
        for kind in [JSONSample.Kind.y, .n, .i] { #expect(JSONSample.all.count { $0.kind == kind } >= 20) }
        #expect(Set(JSONSample.all.map(\.testDescription)).count == JSONSample.all.count)
        for sample in JSONSample.all { #expect((sample.kind == .n) <= (sample.given == nil)) }
    }

    /// Sends each document twice: as the whole body, and as the member `Payload` of an object.
    @Test func validJSONIsReturnedAndInvalidJSONIsRefused() async throws {
        let fixture = try await ServerFixture()
        for sample in JSONSample.all {
            let body = try await self.post(fixture, sample.bytes)
            let embedded = try await self.post(fixture, Array(#"{"Payload":"#.utf8) + sample.bytes + Array("}".utf8))
            guard let given = sample.given else {
                try body.expectProblem(.invalidJSON)
                try embedded.expectProblem(.invalidJSON)
                continue
            }
            try #require(embedded.status == .created, "\(sample.testDescription): \(embedded.text)")
            #expect(
                try await self.fetch(fixture, embedded).contains(#","Payload":\#(given),"Read":"#),
                "\(sample.name)"
            )
            switch given.utf8.first {
            case UInt8(ascii: "\""):
                #expect(body.status == .ok)
                #expect(body.text.contains(#","Payload":\#(given),"Read":"#), "\(sample.name)")
                #expect(
                    try await self.fetch(fixture, body).contains(#","Payload":\#(given),"Read":"#),
                    "\(sample.name)"
                )
            case UInt8(ascii: "{"): try body.expectProblem(.invalidMember, "Payload")
            default: try body.expectProblem(.invalidJSON, "not a string or an object")
            }
        }
    }

    /// A member with the value `null` counts as missing. An empty body counts as no body.
    @Test func nullCountsAsAMissingPayload() async throws {
        let fixture = try await ServerFixture()
        try await self.post(fixture, Array(#"{"Payload":null}"#.utf8)).expectProblem(.invalidMember, "Payload")
        try await self.post(fixture, Array("null".utf8)).expectProblem(.invalidJSON)
        try await self.post(fixture, Array(#"{"Payload":}"#.utf8)).expectProblem(.invalidJSON)
        #expect(try await self.post(fixture, []).status == .ok)
    }

    @Test func pythonReadsTheSame() async throws {
        let questions = JSONSample.all.map { Question(document: Data($0.bytes)) }
        let verdicts = try await Oracle.answers(of: "json_oracle.py", to: questions, as: Verdict.self)
        try #require(verdicts.count == questions.count)
        for (sample, verdict) in zip(JSONSample.all, verdicts) {
            guard !sample.differsFromPython else {
                #expect(verdict.value != nil && sample.given == nil, "\(sample.name) is a difference")
                continue
            }
            let own = try? JSONValue(reading: sample.bytes)
            #expect(own?.plain == verdict.value, "\(sample.testDescription)")
            let given = try sample.given.map { try JSONValue(reading: $0.utf8).plain }
            #expect(given == verdict.value, "\(sample.testDescription)")
        }
    }

    private func post(_ fixture: ServerFixture, _ bytes: [UInt8]) async throws -> Response {
        try await fixture.send(.post, Paths.notifications, bytes: bytes)
    }

    private func fetch(_ fixture: ServerFixture, _ posted: Response) async throws -> String {
        let id = try #require(posted.json["Id"]?.integer)
        return try await fixture.send(.get, Paths.notification(Int64(id))).text
    }
}

extension Bool {
    /// Whether `one` implies `other`.
    fileprivate static func <= (one: Bool, other: Bool) -> Bool { !one || other }
}

extension JSONValue {
    /// The value as a text with its strings in hexadecimal, so that each value has only one
    /// spelling.
    fileprivate var plain: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): Self.plain(text)
        case .array(let elements): "[\(elements.map(\.plain).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(Self.plain($0.name)):\($0.value.plain)" }.joined(separator: ","))}"
        }
    }

    private static func plain(_ text: String) -> String {
        "\"\(text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())\""
    }
}
