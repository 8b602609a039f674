import Foundation
import PushTesting
import Testing

/// Tests the API through real proxies with their files in `config/`, and so tests these files,
/// too.
@Suite(.timeLimit(.minutes(5))) struct ProxyTests {
    @Test(arguments: Site.Way.all)
    func theApiIsTheSameBehindAProxy(way: Site.Way) async throws {
        _ = try await Site.run(way.proxy, way.link) { site in
            let posted = try await site.curl("/api/notifications", "--data", #""a secret""#, "--header", "MyToken: 1")
            #expect(posted.status == 200)
            #expect(posted.values("MyToken") == ["20"])
            let path = "/api/notifications/\(try self.id(in: posted))"

            let fetched = try await site.curl(path, "--header", "MyToken: 1000")
            #expect(fetched.status == 200)
            #expect(fetched.body.contains(#""Payload":"a secret""#))
            #expect(fetched.values("MyToken") == ["17003"])
            #expect(fetched.values("Cache-Control") == ["private, max-age=60"])
            let tag = try #require(fetched.values("ETag").first)
            #expect(tag.hasPrefix("\""))

            let same = try await site.curl(path, "--header", "If-None-Match: \(tag)", "--header", "MyToken: 1000")
            #expect(same.status == 304)
            #expect(same.values("MyToken") == ["17003"])
            #expect(same.body.isEmpty)

            let head = try await site.curl(path, "--head", "--output", "/dev/null")
            #expect(head.status == 200)
            #expect(head.values("Content-Length") == ["\(fetched.body.utf8.count)"])
            #expect(head.values("ETag") == [tag])
        }
    }

    @Test(arguments: Site.Way.all)
    func bodiesOfAllKindsComeThrough(way: Site.Way) async throws {
        _ = try await Site.run(way.proxy, way.link) { site in
            let large = String(repeating: "0123456789", count: 6000)
            try "\"\(large)\"".write(toFile: site.folder.file("large"), atomically: true, encoding: .utf8)
            for framing in ["X-Framing: length", "Transfer-Encoding: chunked", "Expect: 100-continue"] {
                let posted = try await site.curl(
                    "/api/notifications",
                    "--data-binary",
                    "@large",
                    "--header",
                    framing
                )
                #expect(posted.status == 200, "\(framing)")
                let fetched = try await site.curl("/api/notifications/\(try self.id(in: posted))")
                #expect(fetched.body.contains("\"Payload\":\"\(large)\""), "\(framing)")
            }
            let none = try await site.curl("/api/notifications", "--request", "POST")
            #expect(none.status == 200)
        }
    }

    @Test(arguments: Site.Way.all)
    func theDaemonsErrorsPassThroughAProxy(way: Site.Way) async throws {
        _ = try await Site.run(way.proxy, way.link) { site in
            try Data(count: 300_000).write(to: URL(fileURLWithPath: site.folder.file("tooLarge")))
            for framing in ["X-Framing: length", "Transfer-Encoding: chunked"] {
                let refused = try await site.curl(
                    "/api/notifications",
                    "--data-binary",
                    "@tooLarge",
                    "--header",
                    framing,
                    "--header",
                    "MyToken: 1"
                )
                try self.expectProblem(413, refused)
                #expect(refused.values("MyToken") == ["20"])
            }
            let anonymous = try await site.curl("/api/notifications/1", as: "")
            try self.expectProblem(401, anonymous)
            #expect(anonymous.values("WWW-Authenticate").first == #"Basic realm="sealpost", charset="UTF-8""#)
            try self.expectProblem(404, try await site.curl("/api/notifications/1"))
            try self.expectProblem(405, try await site.curl("/readyz", "--request", "PUT"))
        }
    }

    @Test(arguments: Site.Way.all.filter { $0.proxy != .varnish })
    func connectionsAreReused(way: Site.Way) async throws {
        _ = try await Site.run(way.proxy, way.link) { site in
            for _ in 0..<12 {
                #expect(try await site.curl("/readyz").status == 200)
            }
            // A proxy that reuses connections has a few open now. A proxy without reuse would have
            // none, or one for each of the twelve requests.
            let kept = try site.connections()
            #expect((1...4).contains(kept))
        }
    }

    @Test(arguments: Site.Way.all)
    func theLoggedClientIsTheProxysPeerDespiteForgedHeaders(way: Site.Way) async throws {
        let log = try await Site.run(way.proxy, way.link) { site in
            let answer = try await site.curl(
                "/readyz",
                "--interface",
                "127.0.0.5",
                "--header",
                "X-Forwarded-For: 203.0.113.9",
                "--header",
                "Forwarded: for=203.0.113.9"
            )
            #expect(answer.status == 200)
        }
        let clients = log.matches(of: /request answered client=(\S+)/).map(\.output.1)
        #expect(clients == ["127.0.0.5"], "\(log)")
    }

    // MARK: - Steps

    private func id(in answer: Site.Answer) throws -> Substring {
        try #require(answer.body.firstMatch(of: /"Id":(\d+)/), "\(answer.head)\(answer.body)").output.1
    }

    private func expectProblem(_ status: Int, _ answer: Site.Answer) throws {
        #expect(answer.status == status)
        #expect(answer.values("Content-Type") == ["application/problem+json"])
        #expect(answer.values("X-Request-Id").count == 1)
        #expect(answer.body.contains("\"status\":\(status)"))
    }
}
