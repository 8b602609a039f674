internal import HTTPTypes
internal import Reactor

/// The properties of a request on which its answer depends.
struct RequestTraits {
    static let unknown = RequestTraits(isHead: false, isVersion10: false)

    let isHead: Bool
    let isVersion10: Bool
}

extension RequestTraits {
    init(_ head: RequestHead) {
        self.init(isHead: head.method == .head, isVersion10: head.isVersion10)
    }
}

/// Writes responses.
extension Connection {
    /// The work that is left for an answer, and that may have to wait.
    enum Unfinished {
        /// `output` contains the part of the answer that the socket has not accepted yet. If
        /// `output` lacks the body, the body must be sent afterwards.
        case answer(Response, RequestHead, sendsBody: Bool, unread: UnreadBody, closes: Bool)
        /// The client has received its answer; the server only continues to read before it closes
        /// the connection.
        case lingering
    }

    /// A body of at most this number of bytes is copied behind its head, and both are sent in one
    /// call. For a larger body, a second call costs less than the copy.
    private static let copiedBytes = 32_768

    /// Does the work that `answer` could not do at once.
    func finish(_ unfinished: Unfinished) async throws(Ending) {
        guard case .answer(let response, let head, let sendsBody, let unread, let closes) = unfinished else {
            await self.linger()
            throw .silent
        }
        guard await self.writeOutput(), await self.write(sendsBody ? response.body : []) else { throw .silent }
        if let streamingBody = response.streamingBody, self.streamsBody(response, for: head) {
            guard await self.writeBody(with: streamingBody, for: head) else { throw .silent }
        }
        if closes {
            // A client that has asked to close the connection sends nothing more. So no bytes stay
            // unread, and the kernel sends no reset that could destroy the response.
            if head.keepsAlive || unread != .nothing || !self.input.isEmpty { await self.linger() }
            throw .silent
        }
        if unread == .little, await !self.discardRemainingBody() { throw .silent }
    }

    /// Sends a response, after which the caller closes the connection. Returns whether all of the
    /// response was sent.
    func send(_ response: Response, to head: RequestHead?) async -> Bool {
        let isWhole = self.encode(response, to: head.map { RequestTraits($0) } ?? .unknown, closes: true)
        guard await self.writeOutput() else { return false }
        return await self.write(isWhole ? [] : response.body)
    }

    /// Appends a response to `output`. Returns `false` if the body is not included: a large body
    /// is cheaper to send separately.
    @discardableResult
    func encode(_ response: Response, to request: RequestTraits, closes: Bool) -> Bool {
        // No handler may answer with a 1xx status: the client would wait for the final response
        // for ever. So the client gets 500.
        guard response.status.code >= 200 else {
            return self.encode(Response(status: .internalServerError), to: request, closes: closes)
        }
        let bodyLength = response.body.count
        let headLength = ResponseEncoder.ownBytes + response.fields.bytes.count
        let hasBody = !request.isHead && response.status.allowsContent && response.streamingBody == nil
        let isCopied = hasBody && bodyLength <= Self.copiedBytes
        // A local variable needs no checks for exclusive access.
        var output = self.takeOutput()
        output.reserveCapacity(headLength + (isCopied ? bodyLength : 0))
        self.loopState.encoder.appendHead(
            of: response,
            isHead: request.isHead,
            framing: response.streamingBody == nil ? .length : request.isVersion10 ? .untilClose : .chunked,
            connection: closes ? .close : request.isVersion10 ? .keepAlive : .implied,
            now: DateLine.now,
            to: &output
        )
        if isCopied { output.append(contentsOf: response.body) }
        self.output = output
        return isCopied || !hasBody
    }

    /// Moves `output` to the caller. If `output` has no memory, the result uses the loop's spare
    /// memory.
    private func takeOutput() -> [UInt8] {
        var output: [UInt8] = []
        swap(&output, &self.output)
        if output.capacity == 0 { swap(&output, &self.loopState.spareOutput) }
        return output
    }

    /// Sends as much of `output` as the socket accepts now. Returns whether it accepted
    /// everything.
    func flushAtOnce() throws(Ending) -> Bool {
        var output = self.takeOutput()
        do throws(StreamError) {
            let written = try output.span.withUnsafeBytes { (bytes) throws(StreamError) in
                try self.stream.write(bytes)
            }
            guard written == output.count else {
                output.removeFirst(written ?? 0)
                self.output = output
                return false
            }
            output.removeAll(keepingCapacity: output.capacity <= InputBuffer.usualSize)
            self.loopState.spareOutput = output
            return true
        } catch {
            throw .silent
        }
    }

    /// Sends the rest of `output`, and waits as long as necessary.
    private func writeOutput() async -> Bool {
        let remaining = self.output
        self.output = []
        return await self.write(remaining)
    }

    /// Sends bytes. Returns `false` if the client has closed the connection, or if the socket did
    /// not accept all bytes within `writeTimeout`. No more bytes can follow then.
    func write(_ bytes: [UInt8]) async -> Bool {
        let deadline = ContinuousClock.now + self.limits.writeTimeout
        var written = 0
        do {
            while written < bytes.count {
                if self.budget.isSpent { await self.loopState.loop.yield() }
                if let count = try self.writeOnce(bytes, from: written) {
                    written += count
                    self.budget.spend(bytes: count)
                } else {
                    try await self.stream.waitToWrite(until: deadline)
                }
            }
            return true
        } catch {
            self.state = .lost
            return false
        }
    }

    private func writeOnce(_ bytes: [UInt8], from start: Int) throws(StreamError) -> Int? {
        try bytes.span.withUnsafeBytes { (buffer) throws(StreamError) -> Int? in
            try self.stream.write(UnsafeRawBufferPointer(rebasing: buffer[start...]))
        }
    }
}
