import Foundation
import PushAPI
import PushClient
import Reactor
import Testing

/// Somebody between the app and the server who answers in its place.
@Suite struct InterferenceTests {
    private static let item = #"{"Id":7,"Payload":"old","Read":false}"#

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", "<html>Welcome to Hotel Wi-Fi</html>", nil),
            ("HTTP/1.1 200 OK\r\nMyToken: 3\r\nAge: 60\r\n", Self.item, "3"),
            ("HTTP/1.1 200 OK\r\n", Self.item, nil),
            ("HTTP/1.1 404 Not Found\r\n", "", nil),
        ] as [(String, String, String?)]
    )
    func anAnswerWithoutTheEchoIsNotBelieved(head: String, body: String, seen: String?) async throws {
        let error = await #expect(throws: PushClientError.self) {
            try await self.withProxy(answering: "\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)") { client in
                try await client.notification(7)
            }
        }
        guard case .interference(let expected, let found) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found == seen)
        #expect(expected != seen)
    }

    @Test func aServerThatIsNotThereIsTheNetworksError() async throws {
        // The listener is gone with the expression; its port is nobody's.
        let address = try Listener(.tcp(host: "127.0.0.1", port: 0)).address
        let url = try #require(URL(string: "http://\(address)"))
        let client = PushClient(server: url, username: "alice", password: "correct horse")
        await #expect(throws: URLError.self) { try await client.notification(7) }
    }

    /// One that gives each connection the same answer, whatever it asks.
    private func withProxy<Result: Sendable>(
        answering answer: String,
        _ body: @escaping @Sendable (PushClient) async throws -> Result
    ) async throws -> Result {
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        let url = try #require(URL(string: "http://\(listener.address)"))
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) {
                await withDiscardingTaskGroup { connections in
                    await listener.accept(on: loop) { number in
                        connections.addTask(executorPreference: loop) {
                            await Self.serve(number, on: loop, answer: answer)
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await body(PushClient(server: url, username: "alice", password: "correct horse"))
        }
    }

    private static func serve(_ number: Int32, on loop: EventLoop, answer: String) async {
        guard let descriptor = try? Descriptor(number, on: loop) else { return }
        let stream = SocketStream(descriptor)
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: 4096)
        // The request fits into one read; then wait until the client has gone.
        var isAnswered = false
        while true {
            guard let count = try? buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) else {
                guard (try? await stream.waitToRead(until: .now + .seconds(10))) != nil else { return }
                continue
            }
            if count == 0 { return }
            if !isAnswered { _ = try? Array(answer.utf8).withUnsafeBytes { try stream.write($0) } }
            isAnswered = true
        }
    }
}
