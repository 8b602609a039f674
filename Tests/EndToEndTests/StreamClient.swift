import Foundation
import Glibc
import PushTesting
import Reactor

/// A reader of server-sent events that shows the received bytes. Use it only on its event loop.
final class StreamClient {
    private let stream: SocketStream
    private var received: [UInt8] = []
    /// The status line and the header fields.
    private(set) var head = ""

    struct Ended: Error {
        let rest: String
    }

    /// Connects, sends a request with these additional lines, and reads the head.
    init(_ server: URL, _ target: String, _ lines: [String], method: String = "GET", on loop: EventLoop) async throws {
        let number = try ClientSocket.connect(to: .loopback(UInt16(truncatingIfNeeded: server.port ?? 0)))
        try SystemError.check("fcntl") { fcntl(number, F_SETFL, O_NONBLOCK) }
        self.stream = SocketStream(try Descriptor(number, on: loop))
        let request = (["\(method) \(target) HTTP/1.1", "Host: h"] + lines + ["", ""]).joined(separator: "\r\n")
        _ = try Array(request.utf8).withUnsafeBytes { try self.stream.write($0) }
        self.head = try await self.text(upTo: "\r\n\r\n")
    }

    deinit {
        self.stream.close()
    }

    func close() {
        self.stream.close()
    }

    /// Returns the next event that is not a heartbeat, with its lines joined by blanks.
    func event() async throws -> String {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let lines = try await self.text(upTo: "\n\n", until: deadline).split(whereSeparator: \.isNewline).filter {
                line in
                // Lines that begin with a colon are heartbeats, and lines without a colon are the
                // sizes of chunks.
                !line.hasPrefix(":") && line.contains(":")
            }
            if !lines.isEmpty { return lines.joined(separator: " ") }
        }
    }

    /// Reads until the server ends the stream with the last chunk, and returns the text before.
    /// Throws if the stream ends in another way.
    @discardableResult
    func end() async throws -> String {
        try await self.text(upTo: "\r\n0\r\n\r\n")
    }

    private func text(upTo end: String) async throws -> String {
        try await self.text(upTo: end, until: .now + .seconds(30))
    }

    private func text(upTo end: String, until deadline: ContinuousClock.Instant) async throws -> String {
        while true {
            if let range = self.received.firstRange(of: Array(end.utf8)) {
                defer { self.received.removeSubrange(..<range.upperBound) }
                return String(decoding: self.received[..<range.upperBound], as: UTF8.self)
            }
            var buffer = [UInt8](repeating: 0, count: 16_384)
            let count = try buffer.withUnsafeMutableBytes { try self.stream.read(into: $0) }
            if count == 0 { throw Ended(rest: String(decoding: self.received, as: UTF8.self)) }
            if let count { self.received += buffer[..<count] }
            if count == nil { try await self.stream.waitToRead(until: deadline) }
        }
    }
}
