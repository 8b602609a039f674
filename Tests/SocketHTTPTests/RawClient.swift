import Glibc
import PushTesting
import Reactor

/// A client that sends exactly the given bytes, and reads responses as strictly as the tests need.
/// Use it only on its event loop.
final class RawClient {
    struct Response: Hashable {
        var status = ""
        var fields: [String] = []
        var body = ""

        func value(_ name: String) -> String? {
            self.fields.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.utf8.count + 2)) }
        }
    }

    struct Failure: Error {
        let text: String
    }

    let stream: SocketStream
    private var received: [UInt8] = []
    private var hasEnded = false

    init(_ stream: SocketStream) {
        self.stream = stream
    }

    init(to address: SocketAddress, on loop: EventLoop, receiveBuffer: Int32? = nil, from source: String? = nil) throws
    {
        let socket = try ClientSocket.connect(to: address) { socket in
            if var receiveBuffer {
                setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
            }
            if let source {
                let own = SocketAddress.tcp(host: source, port: 0)
                try SystemError.check("bind to \(own)") { own.withName { bind(socket, $0, $1) } }
            }
        }
        try SystemError.check("fcntl") { fcntl(socket, F_SETFL, O_NONBLOCK) }
        self.stream = SocketStream(try Descriptor(socket, on: loop))
    }

    deinit {
        self.stream.close()
    }

    /// Sends a GET request and reads the answer. Throws unless the status is 200.
    func get() async throws {
        try await self.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        let status = try await self.response().status
        guard status == "HTTP/1.1 200 OK" else { throw Failure(text: status) }
    }

    func send(_ text: String) async throws {
        try await self.send(Array(text.utf8)[...])
    }

    func send(_ bytes: ArraySlice<UInt8>) async throws {
        var rest = bytes
        while !rest.isEmpty {
            if let count = try rest.withUnsafeBytes({ try self.stream.write($0) }) {
                rest.removeFirst(count)
            } else {
                try await self.stream.waitToWrite(until: .now + .seconds(60))
            }
        }
    }

    /// Returns the next response, with a body of the announced length. With `bodyless`, the
    /// response has no body.
    func response(bodyless: Bool = false) async throws -> Response {
        while true {
            if let end = self.received.firstRange(of: Array("\r\n\r\n".utf8)) {
                var response = Response()
                let lines = String(decoding: self.received[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
                response.status = lines.first.map(String.init) ?? ""
                response.fields = lines.dropFirst().map(String.init)
                self.received.removeSubrange(..<end.upperBound)
                let length = bodyless ? 0 : response.value("Content-Length").flatMap { Int($0) } ?? 0
                while self.received.count < length { try await self.receive() }
                response.body = String(decoding: self.received.prefix(length), as: UTF8.self)
                self.received.removeFirst(length)
                return response
            }
            try await self.receive()
        }
    }

    /// Returns the content of the next chunk of a body. An empty text is the last chunk.
    func chunk() async throws -> String {
        while true {
            if let end = self.received.firstRange(of: Array("\r\n".utf8)) {
                let size = String(decoding: self.received[..<end.lowerBound], as: UTF8.self)
                guard let length = Int(size, radix: 16) else { throw Failure(text: "no chunk: \(size)") }
                let content = end.upperBound..<end.upperBound + length
                if self.received.count >= content.upperBound + 2 {
                    defer { self.received.removeSubrange(..<(content.upperBound + 2)) }
                    return String(decoding: self.received[content], as: UTF8.self)
                }
            }
            try await self.receive()
        }
    }

    /// Returns everything up to the end of the connection.
    func rest() async throws -> String {
        String(decoding: try await self.restOfBytes(), as: UTF8.self)
    }

    func restOfBytes() async throws -> [UInt8] {
        while !self.hasEnded { try await self.receive() }
        defer { self.received = [] }
        return self.received
    }

    /// Returns whether anything happens on the connection, without reading it.
    func hasNews(within time: Duration) async throws -> Bool {
        do throws(WaitError) {
            try await self.stream.waitToRead(until: .now + time)
            return true
        } catch .timedOut {
            return false
        }
    }

    private func receive() async throws {
        guard !self.hasEnded else {
            throw Failure(text: "ended after: \(String(decoding: self.received, as: UTF8.self))")
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let count = try buffer.withUnsafeMutableBytes({ try self.stream.read(into: $0) }) {
                self.received += buffer.prefix(count)
                self.hasEnded = count == 0
                return
            }
            try await self.stream.waitToRead(until: .now + .seconds(60))
        }
    }
}
