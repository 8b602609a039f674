import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests that the client verifies the method, path and query that the server has received. The
/// peer signs the bytes that it received. An answer therefore passes only if the client verifies
/// the same bytes.
@Suite(.timeLimit(.minutes(5))) struct SignedRequestTests {
    private static let key = SigningKey()
    private static let options = PushClient.Options(testing: [Self.key.publicKey])

    private static let registry: ScriptedPeer.Script = { request, _ in
        let body = request.method == "POST" ? #""a-b_c.0""# : ""
        return .answer(PeerAnswer(to: request, body: body, key: Self.key))
    }

    @Test(arguments: [
        "a", "", "a+b", "a b", "a;b", "ü€😀", "https://push.example/a?b=c&d#e", "%2F%2f%", "~!*'()", "a%2Bb", "[::1]",
        "\u{7F}",
    ])
    func aHandleIsSignedAsItIsSent(handle: String) async throws {
        try await ScriptedPeer.run(Self.registry, options: Self.options) { peer, client in
            #expect(try await client.register(platform: "apns", handle: handle) == "a-b_c.0")
            #expect(peer.requests.map(\.method) == ["POST", "PUT"])
            // A device with an event stream has no handle.
            let query = handle.isEmpty ? "" : "handle=\(handle)"
            #expect(peer.requests[0].query.removingPercentEncoding == query)
            try await client.unregister()
        }
    }

    @Test(arguments: ["...", "a.", "..a", "-", "_", ".a", "0123456789abcdef-ABCDEF"])
    func anIDInAPathIsSignedAsItIsSent(id: String) async throws {
        try await ScriptedPeer.run(
            { request, _ in
                .answer(PeerAnswer(to: request, body: request.method == "POST" ? "\"\(id)\"" : "", key: Self.key))
            },
            options: Self.options
        ) { peer, client async throws in
            #expect(try await client.register(platform: "apns", handle: "a") == id)
            #expect(peer.requests[1].target == "/api/register/\(id)")
        }
    }

    @Test func aCursorIsSignedAsItIsSent() async throws {
        for cursor in ["C", "a+b/c=", "ü", "a&limit=1", "?#"] {
            try await ScriptedPeer.run(
                { request, index in
                    let body = Samples.list([Samples.item(7)], cursor: cursor, more: index == 0)
                    return .answer(PeerAnswer(to: request, body: body, key: Self.key))
                },
                options: Self.options
            ) { peer, client async throws in
                #expect(try await client.sync().date == nil)
                #expect(peer.requests[1].query.removingPercentEncoding == "limit=500&since=\(cursor)")
            }
        }
    }

    /// A proxy removes the path of the server's URL from the request. The server signs the
    /// remaining path.
    @Test(arguments: ["push/", "push/a%20b"])
    func theServersPathIsNotSigned(path: String) async throws {
        let door: ScriptedPeer.Script = { request, _ in
            let target = request.target.replacing("/\(path)".trimmingSuffix("/"), with: "")
            return .answer(PeerAnswer(to: request.exchanged(for: target), body: Samples.item(7), key: Self.key))
        }
        try await ScriptedPeer.run(door) { peer in
            let url = try #require(URL(string: "\(peer.url.absoluteString)/\(path)"))
            let client = PushClient(server: url, credentials: .token("t"), options: Self.options)
            #expect(try await client.notification(7).date == nil)
            #expect(peer.requests.map(\.target) == ["/\(path)".trimmingSuffix("/") + "/api/notifications/7"])
        }
    }

    /// Targets that apps may pass to `SignedRequest`.
    @Test(arguments: [
        "", "/", "?", "/a?", "/a?x", "/a/", "/a//b", "/a%20b", "/a;b=c,d", "/a+b?c+d", "/%C3%BC?%C3%BC", "/ü?ü€",
        "/%7e/~?%7E~",
        "/a%2fb%2Fc", "/a?b?c/d", "/a:b@c", "/a?!$&'()*,=:@", "/...", "/a.?..", "/a?b#c",
    ])
    func aURLIsSignedAsItIsSent(text: String) async throws {
        let script: ScriptedPeer.Script = { request, _ in
            var answer = PeerAnswer(to: request, key: Self.key)
            // The shared session keeps connections open. When the peer ends, it would wait for
            // them.
            answer["Connection"] = "close"
            answer.hangsUp = true
            return .answer(answer)
        }
        try await ScriptedPeer.run(script) { peer in
            let url = try #require(URL(string: peer.url.absoluteString + text))
            for method in ["GET", "PUT", "DELETE"] {
                var request = URLRequest(url: url)
                request.httpMethod = method
                request.setValue("7", forHTTPHeaderField: MyToken.fieldName)
                request.setValue(ResponseVerifier.acceptSignature(), forHTTPHeaderField: "Accept-Signature")
                let (data, response) = try await URLSession.shared.data(for: request)
                let answer = try #require(response as? HTTPURLResponse)
                let sent = SignedRequest(method: method, url: url, token: "7")
                let message = SignedMessage(status: answer.statusCode, body: data, request: sent) { name in
                    answer.value(forHTTPHeaderField: name).map { [$0] } ?? []
                }
                #expect(throws: Never.self, "\(peer.requests.last?.target ?? "")") {
                    try ResponseVerifier(keys: [Self.key.publicKey]).verify(message, now: Date())
                }
            }
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        self.hasSuffix(suffix) ? String(self.dropLast(suffix.count)) : self
    }
}
