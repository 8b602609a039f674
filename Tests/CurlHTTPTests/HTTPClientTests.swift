import CurlHTTP
import Reactor
import Testing

private let ok = Reply.text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Two-Words: a b\r\n\r\nhi")

@Suite(.timeLimit(.minutes(5))) struct HTTPClientTests {
    @Test func aResponseComesBackWithItsStatusHeadersAndBody() async throws {
        let response = try await withPeer(ok) { try await $0.get().get() }
        #expect(response.status == 200)
        #expect(response.header("x-two-words") == "a b")
        #expect(response.body == Array("hi".utf8))
    }

    @Test func theRequestLeavesByteForByteAndNothingIsAdded() async throws {
        let path = "/a/../b?token=%2f%2B%3d&x=~!$'()*,;:@"
        let request = try await withPeer(ok) { exchange in
            let headers = [OutboundRequest.Header("X-One", "1"), .init("X-Empty", "")]
            _ = await exchange.send(.post, path, headers: headers, body: "{\"a\":1}")
            return (await exchange.requestText(), exchange.base.dropFirst(7))
        }
        #expect(
            request.0 == """
                POST \(path) HTTP/1.1\r
                Host: \(request.1)\r
                X-One: 1\r
                X-Empty:\r
                Content-Length: 7\r
                \r
                {"a":1}
                """
        )
    }

    @Test func aHandleUsedAgainKeepsNothingOfItsLastRequest() async throws {
        let requests = try await withPeer(ok) { exchange in
            _ = await exchange.send(.post, "/1", headers: [.init("X-One", "1")], body: "long body")
            let first = await exchange.requestText()
            _ = await exchange.send(.post, "/2", body: "")
            let second = await exchange.requestText()
            _ = await exchange.get("/3")
            return [first, second, await exchange.requestText()].map { $0 ?? "" }
        }
        #expect(requests[0].hasSuffix("long body"))
        #expect(requests[1].hasPrefix("POST /2 ") && requests[1].hasSuffix("Content-Length: 0\r\n\r\n"))
        #expect(!requests[1].contains("X-One"))
        #expect(requests[2].hasPrefix("GET /3 ") && !requests[2].contains("Content-Length"))
    }

    /// If a socket stays corked after a request, the kernel delays the request by a fifth of a
    /// second.
    @Test(arguments: [1, 2, 3, 4, 8]) func everySocketIsUncorkedAfterARequest(connections: Int) async throws {
        var settings = HTTPClientSettings.loopback
        settings.connectionsPerHost = connections
        let corks = try await withPeer(.once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), settings) { exchange in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<connections {
                    // The client opens a connection while it waits for answers on the earlier
                    // ones. Then it also waits on the new connection.
                    _ = await exchange.send(.post, body: "{}", timeout: .seconds(60))
                    _ = await exchange.requestText()
                    group.addTask { _ = await exchange.send(.post, body: "{}", timeout: .seconds(60)) }
                    _ = await exchange.requestText()
                }
                defer { group.cancelAll() }
                return try await withTaskExecutorPreference(exchange.loop) { try await exchange.corks() }
            }
        }
        #expect(corks == Array(repeating: false, count: connections))
    }

    @Test func aPeerThatNeverAnswersIsGivenUpAtTheDeadline() async throws {
        let (result, waited) = try await withPeer(.silence) { exchange in
            let start = ContinuousClock.now
            let result = await exchange.get(timeout: .milliseconds(60))
            return (result, ContinuousClock.now - start)
        }
        #expect(result == .failure(.timedOut))
        #expect(waited >= .milliseconds(60))
    }

    @Test func callsThatWaitForAConnectionHaveADeadlineToo() async throws {
        let failures = try await withPeer(.silence) { exchange in
            await withTaskGroup(of: OutboundError?.self) { group in
                for _ in 0..<5 { group.addTask { await exchange.get(timeout: .milliseconds(60)).failure } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(failures == Array(repeating: .timedOut, count: 5))
    }

    @Test func cancellingTheTaskEndsTheCall() async throws {
        let failure = try await withPeer(.silence) { exchange in
            await withTaskGroup(of: OutboundError?.self) { group in
                group.addTask { await exchange.get(timeout: .seconds(60)).failure }
                _ = await exchange.requestText()
                group.cancelAll()
                return await group.next() ?? nil
            }
        }
        #expect(failure == .cancelled)
    }

    @Test func cancelledTaskSendsNothing() async throws {
        let failure = try await withPeer(ok) { exchange in
            await withTaskGroup(of: OutboundError?.self) { group in
                group.cancelAll()
                group.addTask { await exchange.get().failure }
                return await group.next() ?? nil
            }
        }
        #expect(failure == .cancelled)
    }

    @Test func closingFailsRunningAndLaterCalls() async throws {
        let failures = try await withPeer(.silence) { exchange in
            async let first = exchange.get(timeout: .seconds(60))
            _ = await exchange.requestText()
            await exchange.client.close()
            return [await first.failure, await exchange.get().failure]
        }
        #expect(failures == [.closed, .closed])
    }

    @Test func aClientWhoseLoopHasEndedRefusesCalls() async throws {
        let loop = try EventLoop(index: 0)
        let client = try HTTPClient(.loopback, on: loop)
        await client.close()
        loop.stop()
        let url = try #require(OutboundURL("http://127.0.0.1:1/"))
        await #expect(throws: OutboundError.closed) { try await client.send(OutboundRequest(.get, url)) }
        await client.close()
    }

    @Test func callsAboveTheLimitAreRefusedAtOnce() async throws {
        var settings = HTTPClientSettings.loopback
        settings.maximumCalls = 1
        let failure = try await withPeer(.silence, settings) { exchange in
            // The peer never answers; the end of this scope cancels the call.
            async let _ = exchange.get(timeout: .seconds(60))
            _ = await exchange.requestText()
            return await exchange.get(timeout: .seconds(60)).failure
        }
        #expect(failure == .overloaded)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + String(repeating: "x", count: 101),
        "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 101),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + String(repeating: "x", count: 101)
            + "\r\n0\r\n\r\n",
    ])
    func aBodyAboveTheCapIsNotCollected(reply: String) async throws {
        var settings = HTTPClientSettings.loopback
        settings.maximumResponseBody = 100
        let result = try await withPeer(.text(reply), settings) { await $0.get() }
        #expect(result == .failure(.responseTooLarge))
    }

    private static let longHeaders = [
        "one long line": "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 20_000)
            + "\r\nContent-Length: 2\r\n\r\nhi",
        "many lines": "HTTP/1.1 200 OK\r\n" + String(repeating: "X: x\r\n", count: 4000)
            + "Content-Length: 2\r\n\r\nhi",
        "informational answers": String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", count: 1000)
            + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "a trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
            + String(repeating: "X: x\r\n", count: 4000) + "\r\n",
    ]

    @Test(arguments: longHeaders.keys.sorted()) func aHeaderAboveTheCapEndsTheCall(kind: String) async throws {
        let reply = try #require(Self.longHeaders[kind])
        let result = try await withPeer(.text(reply)) { await $0.get() }
        #expect(result == .failure(.responseTooLarge))
    }

    @Test func aHeaderOfExactlyTheCapIsReadForEachAnswer() async throws {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        var settings = HTTPClientSettings.loopback
        settings.maximumResponseHeader = reply.utf8.count
        let bodies = try await withPeer(.each(reply + "hi"), settings) { exchange in
            try await [exchange.get().get().body, exchange.get().get().body]
        }
        #expect(bodies == [Array("hi".utf8), Array("hi".utf8)])
    }

    @Test func aBodyOfExactlyTheCapIsCollected() async throws {
        var settings = HTTPClientSettings.loopback
        settings.maximumResponseBody = 2
        let response = try await withPeer(ok, settings) { try await $0.get().get() }
        #expect(response.body.count == 2)
    }

    @Test func aResetConnectionIsAnInterruption() async throws {
        let failure = try await withPeer(.reset) { await $0.get().failure }
        guard case .interrupted = failure else {
            Issue.record("unexpected: \(String(describing: failure))")
            return
        }
    }

    @Test func aResponseCutShortIsAnInterruption() async throws {
        let reply = Reply.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        let failure = try await withPeer(reply) { await $0.get().failure }
        guard case .interrupted = failure else {
            Issue.record("unexpected: \(String(describing: failure))")
            return
        }
    }

    @Test(arguments: [
        "220 mail.example.com ESMTP\r\n", "HTTP/1.1 000 Nothing\r\n\r\n", "\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}",
    ])
    func anAnswerThatIsNotHTTPIsAnInterruption(text: String) async throws {
        let failure = try await withPeer(.text(text)) { await $0.get().failure }
        guard case .interrupted = failure else {
            Issue.record("unexpected: \(String(describing: failure))")
            return
        }
    }

    @Test func aRedirectIsAResponseLikeAnyOther() async throws {
        let reply = Reply.text("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        let response = try await withPeer(reply) { try await $0.get().get() }
        #expect(response.status == 302)
    }

    @Test func closedPortIsReportedAsAFailedConnection() async throws {
        // The listener is released at once, so nothing listens at the address afterwards.
        let address = try Listener(.tcp(host: "127.0.0.1", port: 0)).address
        let failure = try await withPeer(ok) { exchange in
            let url = try #require(OutboundURL("http://\(address)/"))
            do throws(OutboundError) {
                _ = try await exchange.client.send(OutboundRequest(.get, url))
                return OutboundError?.none
            } catch {
                return error
            }
        }
        #expect(failure == .couldNotConnect("Connection refused"))
    }

    @Test(arguments: [("X-A", "1\r\nX-B: 2"), ("X-A", "1\n"), ("X-A", "\u{0}"), ("X A", "1"), ("X:A", "1"), ("", "1")])
    func malformedHeadersAreRefused(name: String, value: String) async throws {
        let failure = try await withPeer(ok) { exchange in
            await exchange.send(.get, headers: [.init(name, value)]).failure
        }
        #expect(failure == .badRequest("malformed header \(name)"))
    }
}

@Suite(.timeLimit(.minutes(5))) struct RefusedPlacesTests {
    /// Loopback, private and metadata addresses, in every spelling that a resolver understands.
    @Test(arguments: [
        "127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "0.0.0.0", "localhost", "10.0.0.1", "192.168.1.1",
        "169.254.169.254", "0xA9FEA9FE", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[fe80::1]",
        "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "100.100.100.200", "224.0.0.1",
    ])
    func anAddressOutsideTheInternetIsNeverConnectedTo(host: String) async throws {
        let failure = try await withPeer(ok, HTTPClientSettings { $0.allowsPlainHTTP = true }) { exchange in
            let port = exchange.base.split(separator: ":").last ?? ""
            let url = try #require(OutboundURL("http://\(host):\(port)/"))
            do throws(OutboundError) {
                _ = try await exchange.client.send(OutboundRequest(.get, url))
                return OutboundError?.none
            } catch {
                return error
            }
        }
        #expect(failure == .refusedAddress)
    }

    @Test func plainHTTPNeedsPermission() async throws {
        let failure = try await withPeer(ok, HTTPClientSettings { $0.addresses = .any }) { await $0.get().failure }
        #expect(failure == .badRequest("only https"))
    }

    @Test func unlistedHostIsRefused() async throws {
        var settings = HTTPClientSettings.loopback
        settings.allowedHosts = [try #require(HostPattern("*.notify.windows.com"))]
        let failure = try await withPeer(ok, settings) { await $0.get().failure }
        #expect(failure == .hostNotAllowed)
    }

    @Test func peerWithoutTLSIsReportedAsATLSFailure() async throws {
        let failure = try await withPeer(ok) { exchange in
            let url = try #require(OutboundURL("https" + exchange.base.dropFirst(4)))
            do throws(OutboundError) {
                _ = try await exchange.client.send(OutboundRequest(.get, url))
                return OutboundError?.none
            } catch {
                return error
            }
        }
        guard case .tls = failure else {
            Issue.record("unexpected: \(String(describing: failure))")
            return
        }
    }

    /// The last file stands for all files that are not regular. If the file were a pipe, libcurl
    /// would wait for a writer.
    @Test(arguments: ["/nowhere/ca.pem", "/tmp", "/dev/null"])
    func aFolderOrADeviceInPlaceOfTheCAFileIsReportedAtOnce(file: String) throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        #expect(throws: OutboundError.self) {
            try HTTPClient(HTTPClientSettings { $0.caFile = file }, on: loop)
        }
    }
}
