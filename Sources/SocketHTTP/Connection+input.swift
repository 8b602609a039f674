internal import Reactor

/// What is read besides heads: bodies, and what nobody wants to have.
extension Connection {
    enum Filled {
        case bytes, nothing, ended
    }

    /// What a handler has left of a body.
    enum Rest {
        case nothing
        /// So little that reading it costs less than a new connection.
        case little
        case tooMuch
    }

    /// Up to here an unwanted body is read for the sake of the connection.
    private static let drainedBytes = 65_536
    /// Up to here, and for so long, a client may go on sending while it is being told off.
    private static let lingeringBytes = 1_048_576
    private static let lingeringTime = Duration.seconds(2)

    func fill() -> Filled {
        do throws(StreamError) {
            guard let count = try self.input.fill(from: self.stream, expecting: self.expected) else { return .nothing }
            self.budget.spend(bytes: count)
            return count == 0 ? .ended : .bytes
        } catch {
            return .ended
        }
    }

    private var expected: Int {
        switch self.body {
        case .none: 1
        case .length(let remaining): remaining
        case .chunked: .max
        }
    }

    func prepareBody(_ head: RequestHead) {
        self.body = head.body
        self.awaitsContinue = head.expectsContinue
        self.chunks = head.body == .chunked ? ChunkDecoder(trailerBytes: self.limits.headerBytes) : nil
    }

    // MARK: Bodies

    func readBody(upTo limit: Int) async throws(BodyError) -> [UInt8] {
        // The client's time is not the handler's.
        self.stopHandlerTime()
        defer { self.startHandlerTime() }
        var bytes: [UInt8] = []
        do throws(BodyError) {
            guard !self.isAnswered else { throw .closed }
            // A client that has begun to send does not wait for leave any more.
            self.awaitsContinue = self.awaitsContinue && self.input.isEmpty
            if try self.takeBody(into: &bytes, limit: limit) { return bytes }
            let deadline = ContinuousClock.now + self.limits.bodyTimeout
            try await self.letClientGoOn()
            repeat {
                try await self.fillOrWait(until: deadline)
            } while try !self.takeBody(into: &bytes, limit: limit)
            return bytes
        } catch {
            self.isBroken = true
            throw error
        }
    }

    /// Moves what has arrived of the body to `output`. Whether that was its end.
    private func takeBody(into output: inout [UInt8], limit: Int) throws(BodyError) -> Bool {
        switch self.body {
        case .none:
            return true
        case .length(let remaining):
            let count = min(remaining, self.input.count)
            self.input.withUnread { bytes in
                bytes.extracting(..<count).withUnsafeBufferPointer { output.append(contentsOf: $0) }
            }
            self.input.consume(count)
            self.body = count == remaining ? .none : .length(remaining - count)
        case .chunked:
            guard var decoder = self.chunks else { throw .malformed }
            let count = try self.input.withUnread { (bytes) throws(BodyError) in
                try decoder.decode(bytes, into: &output, limit: limit)
            }
            self.input.consume(count)
            self.chunks = decoder
            if decoder.isFinished { self.body = .none }
        }
        return self.body == .none
    }

    private func letClientGoOn() async throws(BodyError) {
        guard self.awaitsContinue else { return }
        self.awaitsContinue = false
        guard await self.sendInterim(ResponseEncoder.goOn) else { throw .closed }
    }

    private func fillOrWait(until deadline: ContinuousClock.Instant) async throws(BodyError) {
        if self.budget.isSpent { await self.others.loop.yield() }
        switch self.fill() {
        case .bytes: return
        case .ended: throw .closed
        case .nothing: break
        }
        do throws(WaitError) {
            try await self.stream.waitToRead(until: deadline)
        } catch {
            throw error == .timedOut ? .timedOut : .closed
        }
    }

    // MARK: Leftovers

    /// Drops what has already arrived of an unread body, and tells what is still to come.
    func discardBuffered() -> Rest {
        guard self.body != .none else { return .nothing }
        // A client that waits for leave may send its body, or not: what follows cannot be told from a request.
        guard !self.isBroken, !self.awaitsContinue else { return .tooMuch }
        var dropped: [UInt8] = []
        do throws(BodyError) {
            if try self.takeBody(into: &dropped, limit: Self.drainedBytes) { return .nothing }
        } catch {
            return .tooMuch
        }
        if case .length(let remaining) = self.body, remaining <= Self.drainedBytes { return .little }
        return .tooMuch
    }

    /// Reads what is left of a body after `discardBuffered` has found it little. Whether that worked.
    func discardRest() async -> Bool {
        let deadline = ContinuousClock.now + self.limits.bodyTimeout
        var dropped: [UInt8] = []
        do throws(BodyError) {
            while try !self.takeBody(into: &dropped, limit: Self.drainedBytes) {
                try await self.fillOrWait(until: deadline)
            }
            return true
        } catch {
            return false
        }
    }

    /// Ends our side and reads on for a while: closing with bytes unread makes the kernel send a reset, on which the
    /// client's would drop the response that it has not yet read (RFC 9112 §9.6).
    func linger() async {
        self.stream.endWriting()
        let deadline = ContinuousClock.now + Self.lingeringTime
        var room = Self.lingeringBytes
        do throws(BodyError) {
            while room > 0 {
                room -= self.input.count
                self.input.consume(self.input.count)
                try await self.fillOrWait(until: deadline)
            }
        } catch {
            // The client has ended its side, or had its time.
        }
    }
}
