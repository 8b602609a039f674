import Foundation
import Glibc
import PushAPI
import PushServer

/// One request over a connected local socket, and its answer, in the server's HTTP/1.1. All
/// functions block.
struct LocalExchange: ~Copyable {
    /// The reason why no answer came, or only a part of an answer.
    enum Failure: Error {
        /// No bytes came within the timeout.
        case silent
        /// The connection ended before the answer was complete.
        case ended
    }

    struct Answer {
        let status: Int
        let body: [UInt8]
    }

    private let socket: Int32
    private let timeout: Duration
    private var buffer: [UInt8] = []
    private var start = 0

    /// Owns the socket and closes it. `timeout` limits each wait for bytes.
    init(_ socket: Int32, timeout: Duration) {
        self.socket = socket
        self.timeout = timeout
    }

    deinit { close(self.socket) }

    /// Sends the request. Passes each piece of the body of a successful answer to `piece`, and
    /// returns that answer without the body. Returns an unsuccessful answer with its body. Throws
    /// `Failure`, and the errors of `piece`.
    mutating func ask(
        _ method: String,
        _ target: String,
        _ body: [UInt8],
        _ piece: (ArraySlice<UInt8>) throws -> Void
    ) throws -> Answer {
        let head = """
            \(method) \(target) HTTP/1.1\r
            Host: \(LocalAdministration.host)\r
            Content-Length: \(body.count)\r
            Connection: close\r
            \r\n
            """
        try self.send(Array(head.utf8) + body)
        let lines = try self.readHead()
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw Failure.ended
        }
        var rest: [UInt8] = []
        func take(_ bytes: ArraySlice<UInt8>) throws {
            if (200...299).contains(status) { try piece(bytes) } else { rest += bytes }
        }
        if lines.contains("transfer-encoding: chunked") {
            try self.readChunks(take)
        } else {
            let length = lines.lazy.compactMap { $0.hasPrefix("content-length: ") ? Int($0.dropFirst(16)) : nil }.first
            try self.read(length ?? 0, take)
        }
        return Answer(status: status, body: rest)
    }

    // MARK: - Private

    private func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            try self.wait(for: Int16(POLLOUT))
            let count = bytes.withUnsafeBytes {
                Glibc.send(self.socket, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            // If the server refuses a request, it does not read the body. The connection then
            // accepts no more bytes, but the answer has already arrived.
            guard count > 0 else { return }
            sent += count
        }
    }

    /// The lines of the answer's head. All lines except the first are in lower case.
    private mutating func readHead() throws -> [String] {
        var lines: [String] = []
        while true {
            let line = try self.readLine()
            if line.isEmpty { return lines }
            lines.append(lines.isEmpty ? line : line.lowercased())
        }
    }

    private mutating func readChunks(_ take: (ArraySlice<UInt8>) throws -> Void) throws {
        while true {
            guard let size = Int(try self.readLine(), radix: 16), size >= 0 else { throw Failure.ended }
            try self.read(size, take)
            guard try self.readLine().isEmpty else { throw Failure.ended }
            if size == 0 { return }
        }
    }

    private mutating func read(_ count: Int, _ take: (ArraySlice<UInt8>) throws -> Void) throws {
        var left = count
        while left > 0 {
            if self.start == self.buffer.count { try self.fill() }
            let end = min(self.buffer.count, self.start + left)
            try take(self.buffer[self.start..<end])
            left -= end - self.start
            self.start = end
        }
    }

    private mutating func readLine() throws -> String {
        while true {
            if let end = self.buffer[self.start...].firstIndex(of: 0x0A) {
                let line = self.buffer[self.start..<end]
                self.start = end + 1
                return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
            }
            guard self.buffer.count - self.start < 65_536 else { throw Failure.ended }
            try self.fill()
        }
    }

    /// Waits for bytes, and appends those that have arrived.
    private mutating func fill() throws {
        self.buffer.removeFirst(self.start)
        self.start = 0
        while true {
            try self.wait(for: Int16(POLLIN))
            var piece = [UInt8](repeating: 0, count: 65_536)
            let count = Glibc.read(self.socket, &piece, piece.count)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { throw Failure.ended }
            self.buffer += piece[..<count]
            return
        }
    }

    private func wait(for events: Int16) throws {
        let end = ContinuousClock.now + self.timeout
        while true {
            let left = (end - ContinuousClock.now) / .milliseconds(1)
            guard left > 0 else { throw Failure.silent }
            var watched = pollfd(fd: self.socket, events: events, revents: 0)
            let ready = poll(&watched, 1, Int32(clamping: Int(left.rounded(.up))))
            if ready > 0 { return }
            guard ready == 0 || errno == EINTR else { throw Failure.ended }
        }
    }
}
