internal import Reactor

/// Serves HTTP/1.1 with keep-alive to a client that does not use HTTP/2: bodies of a known length,
/// one request at a time.
///
/// Returns when the client has gone, is idle for too long, or sends bytes that cannot be parsed.
func serveHTTP1(
    _ stream: any ByteStream,
    as connection: SimulatedConnection? = nil,
    limits: SimulatorServer.Limits,
    handler: SimulatorServer.Handler
) async {
    var input: [UInt8] = []
    do {
        while true {
            guard let head = try await HTTP1.readHead(from: stream, into: &input, limits) else { return }
            guard let length = head.bodyLength else {
                let refusal = SimulatedResponse(status: 400, headers: [HeaderField("Connection", "close")])
                return try await HTTP1.write(refusal, to: stream, limits)
            }
            while input.count < length {
                guard try await HTTP1.readMore(from: stream, into: &input, limits) else { return }
            }
            var request = head.request
            request.body = Array(input.prefix(length))
            input.removeFirst(length)
            request.connection = connection?.number ?? 0
            let response = await handler(request)
            switch response.fault {
            // HTTP/1.1 cannot say that a request was not processed, so the connection is reset.
            case .reset, .loseAnswer, .refuseStream, .goAwayBefore: connection?.reset()
            case .noAnswer: try await connection?.waitForHangUp(within: limits.idleTime)
            case .cut:
                try await HTTP1.write(response, to: stream, limits, isCut: true)
                connection?.cut()
            case .goAway:
                var last = response
                last.headers.append(HeaderField("Connection", "close"))
                return try await HTTP1.write(last, to: stream, limits)
            case .slow(let pace): try await HTTP1.write(response, to: stream, limits, pace: pace)
            default: try await HTTP1.write(response, to: stream, limits)
            }
        }
    } catch {
        // A connection can fail in many ways, and the simulator ignores all of them.
        return
    }
}

private enum HTTP1 {
    struct Head {
        let request: SimulatedRequest
        /// The length of the request's body; 0 without `Content-Length`. `nil` if the body comes
        /// in chunks, which no simulated provider accepts, or if `Content-Length` is invalid or
        /// too large.
        let bodyLength: Int?
    }

    private static let headLimit = 32 * 1024

    /// Reads the head of the next request; returns `nil` at the end of the connection.
    static func readHead(
        from stream: any ByteStream,
        into input: inout [UInt8],
        _ limits: SimulatorServer.Limits
    ) async throws -> Head? {
        while true {
            if let end = input.firstRange(of: [13, 10, 13, 10]) {
                defer { input.removeSubrange(..<end.upperBound) }
                return Self.parse(String(decoding: input[..<end.lowerBound], as: UTF8.self))
            }
            guard input.count < Self.headLimit, try await self.readMore(from: stream, into: &input, limits) else {
                return nil
            }
        }
    }

    /// Reads more input. Returns `false` at the end of the connection.
    static func readMore(
        from stream: any ByteStream,
        into input: inout [UInt8],
        _ limits: SimulatorServer.Limits
    ) async throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            if let count = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) {
                input.append(contentsOf: buffer[..<count])
                return count > 0
            }
            try await stream.waitToRead(until: .now + limits.idleTime)
        }
    }

    static func write(
        _ response: SimulatedResponse,
        to stream: any ByteStream,
        _ limits: SimulatorServer.Limits,
        isCut: Bool = false,
        pace: Duration? = nil
    ) async throws {
        var text = "HTTP/1.1 \(response.status) \r\n"
        for header in response.headers { text += "\(header.name): \(header.value)\r\n" }
        text += "Content-Length: \(response.body.count)\r\n\r\n"
        let bytes = Array(text.utf8) + response.body
        var written = 0
        let end = isCut ? bytes.count / 2 : bytes.count
        while written < end {
            let pieceEnd = pace == nil ? end : written + 1
            let count = try bytes.withUnsafeBytes { bytes in
                try stream.write(UnsafeRawBufferPointer(rebasing: bytes[written..<pieceEnd]))
            }
            if let count {
                written += count
                if let pace { try await Task.sleep(for: pace) }
            } else {
                try await stream.waitToWrite(until: .now + limits.writeTime)
            }
        }
    }

    private static func parse(_ text: String) -> Head? {
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst()?.split(separator: " "), first.count == 3 else { return nil }
        var headers: [HeaderField] = []
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingPrefix { $0 == " " || $0 == "\t" }
            headers.append(HeaderField(String(line[..<colon]), String(value)))
        }
        let request = SimulatedRequest(method: String(first[0]), path: String(first[1]), headers: headers)
        return Head(request: request, bodyLength: self.bodyLength(of: request))
    }

    private static func bodyLength(of request: SimulatedRequest) -> Int? {
        guard request.header("transfer-encoding") == nil else { return nil }
        guard let text = request.header("content-length") else { return 0 }
        guard let length = Int(text), (0...HTTP2Session.bodyLimit).contains(length) else { return nil }
        return length
    }
}
