internal import HTTPTypes
internal import Reactor

/// What is written: responses, and what is said before them.
extension Connection {
    /// Up to here a body is sent in one call with its head, and above in a second one, which is cheaper than the copy.
    private static let copiedBytes = 32_768

    func send(_ response: Response, to head: RequestHead?, closes: Bool) async -> Bool {
        if let rest = self.encode(response, to: head, closes: closes) {
            guard await self.flush() else { return false }
            return await self.write(rest)
        }
        return await self.flush()
    }

    /// Puts a response into `output`; gives its body if that is better sent on its own.
    @discardableResult
    func encode(_ response: Response, to head: RequestHead?, closes: Bool) -> [UInt8]? {
        var response = response
        // A handler's slip; sent as it is, the client would wait for the real answer for ever.
        if response.status.code < 200 { response = Response(status: .internalServerError) }
        let isHead = head?.method == .head
        let fits = response.body.count <= Self.copiedBytes
        self.output.reserveCapacity(512 + (fits ? response.body.count : 0))
        self.others.encoder.appendHead(
            of: response,
            isHead: isHead,
            framing: response.production == nil ? .length : head?.isVersion10 == true ? .untilClose : .chunked,
            connection: closes ? .close : head?.isVersion10 == true ? .keepAlive : .implied,
            now: DateLine.now,
            to: &self.output
        )
        guard !isHead, response.status.allowsContent, response.production == nil else { return nil }
        guard fits else { return response.body }
        self.output.append(contentsOf: response.body)
        return nil
    }

    /// Says something before the response.
    func sendInterim(_ bytes: [UInt8]) async -> Bool {
        await self.write(bytes)
    }

    /// Sends what has been encoded. `false` if the client did not take it all in time, or went away.
    private func flush() async -> Bool {
        do throws(StreamError) {
            let written = try self.output.withUnsafeBufferPointer { (bytes) throws(StreamError) in
                try self.stream.write(UnsafeRawBufferPointer(bytes))
            }
            if written == self.output.count {
                self.output.removeAll(keepingCapacity: self.output.capacity <= InputBuffer.usualSize)
                return true
            }
            let rest = self.output
            self.output = []
            return await self.write(rest, from: written ?? 0)
        } catch {
            return false
        }
    }

    /// Sends bytes. `false` if the client did not take them all within `writeTimeout`, or went away.
    func write(_ bytes: [UInt8], from start: Int = 0) async -> Bool {
        let deadline = ContinuousClock.now + self.limits.writeTimeout
        var written = start
        do {
            while written < bytes.count {
                if self.budget.isSpent { await self.others.loop.yield() }
                if let count = try self.writeOnce(bytes, from: written) {
                    written += count
                    self.budget.spend(bytes: count)
                } else {
                    try await self.stream.waitToWrite(until: deadline)
                }
            }
            return true
        } catch {
            return false
        }
    }

    private func writeOnce(_ bytes: [UInt8], from start: Int) throws(StreamError) -> Int? {
        try bytes.span.withUnsafeBytes { (buffer) throws(StreamError) -> Int? in
            try self.stream.write(UnsafeRawBufferPointer(rebasing: buffer[start...]))
        }
    }
}
