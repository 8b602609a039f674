import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import Testing

@testable import PushClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Checks of answers that a test over sockets cannot produce on every system.
@Suite(.timeLimit(.minutes(5))) struct AnswerCheckTests {
    private static let token = MyToken.random()

    private static func kind(
        status: Int = 200,
        _ fields: [String: String],
        body: String = "{}",
        end: RawResponse.End = .complete,
        tag: String? = nil
    ) throws -> Interference.Kind? {
        let url = try #require(URL(string: "http://push.example/api/notifications"))
        let fields = fields.merging(["mytoken": " \(Self.token.echo) "]) { $1 }
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        let raw = RawResponse(response: try #require(response), body: Data(body.utf8), end: end)
        var request = APIRequest("GET", "/api/notifications")
        request.tag = tag
        do {
            _ = try AnswerCheck(keys: [], tolerance: .seconds(300)).answer(
                to: request,
                Self.token,
                raw,
                account: nil,
                now: Date()
            )
            return nil
        } catch {
            guard case .interference(let interference) = error else { throw error }
            return interference.kind
        }
    }

    @Test(
        arguments: [
            (["Content-Length": "2"], .complete, nil), (["Content-Length": "3"], .complete, .truncated),
            (["Content-Length": "1"], .complete, .truncated), ([:], .complete, nil), ([:], .cut, .truncated),
            (["content-length": "3"], .complete, .truncated), ([:], .oversized(limit: 1), .oversized),
            // The system has decompressed the body, but `Content-Length` is the length of the
            // compressed body.
            (["Content-Length": "22", "Content-Encoding": "gzip"], .complete, nil),
            (["Content-Length": "22", "Content-Encoding": "identity"], .complete, .truncated),
        ] as [([String: String], RawResponse.End, Interference.Kind?)]
    )
    func aBodyIsAsLongAsItWasAnnounced(fields: [String: String], end: RawResponse.End, kind: Interference.Kind?) throws
    {
        #expect(try Self.kind(fields, end: end) == kind)
    }

    @Test(
        arguments: [
            ("\"a\"", "\"a\"", nil), ("\"a\"", "W/\"a\"", nil), ("W/\"a\"", "\"a\"", nil), ("\"a\"", "\"a-gzip\"", nil),
            ("\"a\"", "\"b\"", .unexpectedNotModified), ("\"a\"", nil, .unexpectedNotModified),
            (nil, "\"a\"", .unexpectedNotModified), (nil, nil, .unexpectedNotModified),
            ("\"a\"", "a", .unexpectedNotModified),
        ] as [(String?, String?, Interference.Kind?)]
    )
    func a304IsTheAnswerToOurCondition(asked: String?, seen: String?, kind: Interference.Kind?) throws {
        let fields = seen.map { ["ETag": $0, "Content-Length": "40"] } ?? [:]
        #expect(try Self.kind(status: 304, fields, body: "", tag: asked) == kind)
    }
}
