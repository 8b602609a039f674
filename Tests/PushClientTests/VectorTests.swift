import Foundation
import HTTPSignatures
import PushAPI
import Testing

@testable import PushClient

/// Tests that the client behaves as the files in `docs/evidence/vectors` demand.
@Suite(.timeLimit(.minutes(5))) struct VectorTests {
    @Test func theEchoIsThatOfTheVectors() throws {
        let file = try VectorFile("echo")
        for vector in try file.list("echoes") {
            let (token, echo) = (try MyToken(text: vector.text("token")), try vector.text("echo"))
            #expect(token.echo == echo)
        }
        for text in try file.list("refused").compactMap(\.text) {
            #expect(throws: MyToken.Invalid.self, "\(text)") { _ = try MyToken(text: text) }
        }
        #expect(file.json["greatest"]?.integer == Int(MyToken.range.upperBound))
    }

    @Test func digestsAreThoseOfTheVectors() throws {
        let file = try VectorFile("digests")
        for vector in try file.list("contents") {
            let zeros = vector["zeros"]?.integer.map { Data(count: $0) }
            let body = try zeros ?? #require(Data(base64Encoded: try vector.text("bodyBase64")))
            #expect(try ContentDigest.field(of: body) == vector.text("field"))
        }
        let comparisons = try #require(file.json["comparisons"])
        let body = Array(try comparisons.text("body").utf8)
        for vector in try comparisons.list("fields") {
            let matches = ContentDigest.matches(field: try vector.text("field"), body: body)
            let name = try vector.text("name")
            #expect(.bool(matches) == vector["matches"], "\(name)")
        }
    }

    @Test func signaturesOfEachStatusAreVerified() throws {
        let file = try VectorFile("signatures")
        let verifier = ResponseVerifier(keys: [try VectorFile.pinned()], coverage: .account)
        let now = try file.json.time("now")
        for vector in try file.list("vectors") {
            let exchange = try VectorExchange(vector)
            let name = try vector.text("name")
            #expect(throws: Never.self, "\(name)") {
                try verifier.verify(exchange.message(), now: now)
            }
        }
    }

    /// Changes each byte of each answer's content and of its request's target.
    @Test func aChangedByteAnywhereIsRefused() throws {
        let file = try VectorFile("signatures")
        let verifier = ResponseVerifier(keys: [try VectorFile.pinned()], coverage: .account)
        let now = try file.json.time("now")
        var count = 0
        for vector in try file.list("vectors") {
            let exchange = try VectorExchange(vector)
            for index in exchange.body.indices {
                var body = exchange.body
                body[index] ^= 1 << UInt8(index % 8)
                #expect(throws: SignatureFailure.self) { try verifier.verify(exchange.message(body: body), now: now) }
                count += 1
            }
            for index in exchange.path.utf8.indices {
                let path = exchange.path[..<index] + "_" + exchange.path[exchange.path.utf8.index(after: index)...]
                let other = SignedRequest(
                    method: exchange.method,
                    path: String(path),
                    query: exchange.query,
                    token: exchange.token
                )
                #expect(throws: SignatureFailure.self) {
                    try verifier.verify(exchange.message(request: other), now: now)
                }
                count += 1
            }
        }
        #expect(count > 1000)
    }

    /// Changes the status, the content, or a field that the signature needs, as the tests of
    /// clients in other languages do.
    @Test func aChangedByteInAnyOfAThousandSampledAnswersIsRefused() throws {
        let file = try VectorFile("signatures")
        let (key, now) = (try VectorFile.pinned(), try file.json.time("now"))
        // This client sends only valid tokens, and never an empty query or one in another
        // encoding. Vectors with other requests are left out.
        let plain = /[a-zA-Z0-9=&]+/
        let exchanges = try file.list("vectors").map { try VectorExchange($0) }.filter {
            (try? MyToken(text: $0.token)) != nil && ($0.query ?? "a").wholeMatch(of: plain) != nil
        }
        var (statuses, parts): (Set<Int>, Set<String>) = ([], [])
        for _ in 0..<1000 {
            let exchange = try #require(exchanges.randomElement())
            // As a control, the answer passes without the change.
            #expect(throws: Never.self) { try exchange.checked(by: key, now: now) }
            var changed = exchange
            let part = changed.changeOneByte()
            let error = #expect(throws: PushClientError.self, "\(part) of \(exchange.status)") {
                try changed.checked(by: key, now: now)
            }
            guard case .interference? = error else {
                Issue.record("\(part) of \(exchange.status)")
                continue
            }
            statuses.insert(exchange.status)
            parts.insert(part)
        }
        #expect(statuses.isSuperset(of: [200, 201, 204, 304, 400, 401, 404, 429, 503]), "\(statuses)")
        #expect(parts == ["status", "content", "mytoken", "etag", "content-digest", "signature-input", "signature"])
    }

    @Test func hintsAreThoseOfTheVectors() throws {
        let file = try VectorFile("hints")
        for vector in try file.list("hints") {
            let (id, hint) = (Int64(try #require(vector["id"]?.integer)), try vector.text("accountHint"))
            #expect(try PushClient.accountHint(of: id, registration: vector.text("registration")) == hint)
            let push = try #require(PushMessage(json: Data(try vector.text("push").utf8)))
            #expect(push == PushMessage(id: id, accountHint: hint))
            #expect(PushMessage(userInfo: ["aps": [:], "secureId": "\(id)", "accountHint": hint]) == push)
        }
        for text in try file.list("none").compactMap(\.text) {
            #expect(PushMessage(json: Data(text.utf8)) == PushMessage(id: 4711))
        }
    }

    @Test func pushesAreParsedAsTheVectorsSay() throws {
        let file = try VectorFile("pushes")
        for vector in try file.list("pushes") {
            let id = Int64(try #require(vector["id"]?.integer))
            for name in ["push", "amongOthers"] {
                #expect(PushMessage(json: Data(try vector.text(name).utf8)) == PushMessage(id: id), "\(name) of \(id)")
            }
            #expect(PushMessage(userInfo: ["aps": [:], "secureId": "\(id)"]) == PushMessage(id: id))
        }
        for text in try file.list("none").compactMap(\.text) {
            #expect(PushMessage(json: Data(text.utf8)) == nil, "\(text)")
        }
    }

    @Test func waitsAreThoseOfTheVectors() throws {
        let file = try VectorFile("interference")
        var exchange = try VectorExchange(try #require(try file.list("cases").first))
        let fields = exchange.fields
        for vector in try file.list("retryAfter") {
            let text = try vector.text("field")
            exchange.fields = fields + [("Retry-After", text)]
            let due = vector["seconds"]?.integer.map { Duration.seconds($0) }
            #expect(try exchange.checked(by: nil, now: Date()).fields.retryAfter == due, "\(text)")
        }
    }

    @Test func interferenceIsNamedAsTheVectorsSay() throws {
        let key = try VectorFile.pinned()
        var named: Set<String> = []
        for vector in try VectorFile("interference").list("cases") {
            let exchange = try VectorExchange(vector)
            let verdicts = try #require(vector["verdict"])
            for (name, key) in [("unsigned", nil), ("signed", key)] as [(String, VerificationKey?)] {
                let due = try verdicts.text(name)
                named.insert(due)
                let (call, change) = (try vector.text("call"), try vector.text("name"))
                let account = vector["account"]?.text
                let verdict = try Self.verdict(exchange, call, key, account, now: vector.time("deviceTime"))
                #expect(verdict == due, "\(change), \(name)")
            }
        }
        // No vector causes these kinds: `oversized` depends on the client's own limit, and
        // `untrustedKey` occurs before there is an answer.
        let others: [Interference.Kind] = [.oversized, .untrustedKey]
        #expect(named == Set(Interference.Kind.allCases.filter { !others.contains($0) }.map(\.rawValue) + ["accepted"]))
    }

    @Test func accountIDsAreLearntAsTheVectorsSay() throws {
        let key = try VectorFile.pinned()
        let now = try VectorFile("signatures").json.time("now")
        for vector in try VectorFile("accounts").list("signIns") {
            let exchange = try VectorExchange(vector)
            let (name, asked, known) = (try vector.text("name"), try vector.text("asked"), vector["known"]?.text)
            let own = OwnAccount(nil, known: known)
            var verdict = "accepted"
            do {
                let answer = try exchange.checked(by: key, account: known, now: now)
                if let account = try answer.account(of: asked) { try own.begin(as: account) }
            } catch PushClientError.interference(let interference) {
                verdict = interference.kind.rawValue
            }
            #expect(try verdict == vector.text("verdict"), "\(name), \(exchange.method)")
            #expect(own.id == vector["account"]?.text, "\(name), \(exchange.method)")
        }
    }

    @Test func signOutOutcomesMatchTheVectors() async throws {
        let key = try VectorFile.pinned()
        let now = try VectorFile("signatures").json.time("now")
        for vector in try VectorFile("accounts").list("signOuts") {
            let exchange = try VectorExchange(vector)
            let name = try vector.text("name")
            var outcome = "done"
            do {
                _ = try APITransport.success(exchange.checked(by: key, account: vector.text("account"), now: now))
            } catch PushClientError.interference(let interference) {
                outcome = interference.kind == .wrongAccount ? "waits" : interference.kind.rawValue
            } catch PushClientError.unauthorized {
                outcome = "ended"
            } catch PushClientError.problem(let problem) {
                outcome = [404, 410].contains(problem.status) ? "done" : "\(problem.status)"
            }
            #expect(try outcome == vector.text("outcome"), "\(name)")
        }
    }

    private static func verdict(
        _ exchange: VectorExchange,
        _ call: String,
        _ key: VerificationKey?,
        _ account: String?,
        now: Date
    ) throws -> String {
        do {
            let answer = try APITransport.success(exchange.checked(by: key, account: account, now: now))
            switch call {
            case "list": _ = try InboxPage(answer)
            default: if answer.status != 304 { _ = try answer.item(7) }
            }
            return "accepted"
        } catch PushClientError.interference(let interference) {
            return interference.kind.rawValue
        } catch is PushClientError {
            // The server itself has refused the request, so the client has accepted the answer.
            return "accepted"
        }
    }
}

extension VectorExchange {
    /// Changes one byte that the signature covers or needs; returns the name of the changed part.
    fileprivate mutating func changeOneByte() -> String {
        let fields = ["mytoken", self.status == 304 ? "etag" : "content-digest", "signature-input", "signature"]
        let part = (["status"] + fields + Array(repeating: "content", count: self.body.isEmpty ? 0 : 4)).randomElement()
        switch part ?? "status" {
        case "status":
            self.status = Int(String(decoding: Self.changed(Array("\(self.status)".utf8)), as: UTF8.self)) ?? 0
        case "content":
            let index = Int.random(in: self.body.indices)
            self.body[index] ^= 1 << UInt8.random(in: 0..<8)
        case let name:
            guard let index = self.fields.firstIndex(where: { $0.name.lowercased() == name }) else { return name }
            let bytes = Self.changed(Array(self.fields[index].value.utf8))
            self.fields[index].value = String(decoding: bytes, as: UTF8.self)
        }
        return part ?? "status"
    }

    /// Replaces one byte by another digit or character.
    private static func changed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        guard let index = bytes.indices.randomElement() else { return bytes }
        let isDigits = bytes.allSatisfy { (0x30...0x39).contains($0) }
        let others = isDigits ? Array("123456789".utf8) : Array("ABCxyz019:;=\"+/".utf8)
        bytes[index] = others.filter { $0 != bytes[index] }.randomElement() ?? 0x78
        return bytes
    }
}
