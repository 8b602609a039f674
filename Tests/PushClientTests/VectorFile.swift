import Foundation
import HTTPSignatures
import PushAPI
import PushTesting
import Testing

@testable import PushClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A file of `docs/evidence/vectors`.
struct VectorFile {
    let json: JSONValue

    init(_ name: String) throws {
        self.json = try JSONValue(reading: Array(Repository.text(of: "docs/evidence/vectors/\(name).json").utf8))
    }

    func list(_ name: String) throws -> [JSONValue] { try self.json.list(name) }

    static func pinned() throws -> VerificationKey {
        let text = try #require(try VectorFile("keys").json["pinned"]?["publicKey"]?.text)
        return try #require(VerificationKey(base64URL: text))
    }
}

extension JSONValue {
    func list(_ name: String) throws -> [JSONValue] {
        guard case .array(let elements)? = self[name] else { throw VectorExchange.Malformed(name) }
        return elements
    }

    func ids(_ name: String) throws -> [Int64] { try self.list(name).compactMap { $0.integer.map(Int64.init) } }

    func text(_ name: String) throws -> String { try #require(self[name]?.text, "\(name)") }

    func time(_ name: String) throws -> Date {
        Date(timeIntervalSince1970: TimeInterval(try #require(self[name]?.integer, "\(name)")))
    }
}

/// The request and the answer of a vector.
struct VectorExchange {
    struct Malformed: Error {
        let what: String

        init(_ what: String) { self.what = what }
    }

    let method: String
    let path: String
    let query: String?
    let token: String
    let nonce: String?
    let condition: String?
    var status: Int
    var fields: [(name: String, value: String)]
    var body: [UInt8]
    let isCut: Bool

    init(_ json: JSONValue) throws {
        let (request, answer) = (try #require(json["request"]), try #require(json["answer"]))
        self.method = try request.text("method")
        self.path = try request.text("path")
        self.query = request["query"]?.text
        self.token = try request.text("token")
        self.nonce = request["nonce"]?.text
        self.condition = request["condition"]?.text
        self.status = try #require(answer["status"]?.integer)
        self.fields = try answer.list("fields").map { field in
            guard case .array(let pair) = field, let name = pair.first?.text, let value = pair.last?.text else {
                throw Malformed("a field")
            }
            return (name, value)
        }
        self.body =
            if let text = answer["body"]?.text { Array(text.utf8) } else {
                Array(try #require(Data(base64Encoded: try answer.text("bodyBase64"))))
            }
        self.isCut = try answer.text("end") == "cut"
    }

    var signed: SignedRequest {
        SignedRequest(method: self.method, path: self.path, query: self.query, token: self.token, nonce: self.nonce)
    }

    func message(body: [UInt8]? = nil, request: SignedRequest? = nil) -> SignedMessage {
        SignedMessage(status: self.status, body: body ?? self.body, request: request ?? self.signed) { name in
            self.fields.filter { $0.name.lowercased() == name }.map(\.value)
        }
    }

    /// The request as the client makes it. The vector's query must be one that the client can
    /// make.
    func apiRequest() throws -> APIRequest {
        var request = APIRequest(self.method, self.path)
        request.query = (self.query ?? "").split(separator: "&").map { part in
            let pair = part.split(separator: "=", maxSplits: 1)
            return URLQueryItem(name: String(pair[0]), value: pair.count > 1 ? String(pair[1]) : "")
        }
        (request.tag, request.nonce) = (self.condition, self.nonce)
        request.isSignIn = self.method == "POST" && self.path == Paths.sessions
        #expect(request.percentEncodedQuery == self.query)
        return request
    }

    func raw() throws -> RawResponse {
        let url = try #require(URL(string: "http://push.example\(self.path)"))
        let fields = Dictionary(self.fields.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        let response = HTTPURLResponse(url: url, statusCode: self.status, httpVersion: "HTTP/1.1", headerFields: fields)
        return RawResponse(
            response: try #require(response),
            body: Data(self.body),
            end: self.isCut ? .cut : .complete
        )
    }

    /// Returns the answer if it passes the client's checks, and throws otherwise.
    func checked(by key: VerificationKey?, account: String? = nil, now: Date) throws -> Answer {
        let check = AnswerCheck(keys: key.map { [$0] } ?? [], tolerance: .seconds(300))
        return try check.answer(
            to: self.apiRequest(),
            MyToken(text: self.token),
            self.raw(),
            account: account,
            now: now
        )
    }
}
