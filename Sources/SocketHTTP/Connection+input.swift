internal import Reactor

/// Reads bodies, and discards the bodies that no handler reads.
extension Connection {
    enum Filled {
        case bytes, nothing, ended
    }

    /// How much of a request's body the handler has left unread.
    enum UnreadBody {
        case nothing
        /// Reading the rest costs less than a new connection would.
        case little
        case tooMuch
    }

    /// The maximum number of remaining bytes of a body that the server reads only to keep the
    /// connection usable.
    private static let drainedBytes = 65_536
    /// The number of bytes that a client may still send after a refusal, and the time that it has
    /// for them.
    private static let lingeringBytes = 1_048_576
    private static let lingeringTime = Duration.seconds(2)

    func fill() -> Filled {
        do throws(StreamError) {
            var input = self.takeInput()
            defer { self.input = input }
            let expected = self.body.expected
            guard let count = try input.fill(from: self.stream, expecting: expected, &self.loopState.spares)
            else { return .nothing }
            self.budget.spend(bytes: count)
            return count == 0 ? .ended : .bytes
        } catch {
            return .ended
        }
    }

    func prepareBody(_ head: RequestHead) {
        self.body =
            head.expectsContinue && head.body != .none
            ? .awaitingContinue(head.body) : BodyState(head.body, trailerBytes: self.limits.headerBytes)
    }

    // MARK: Bodies

    func readBody(upTo limit: Int) async throws(BodyError) -> [UInt8] {
        // The handler's time limit does not include this wait for the client.
        self.stopHandlerTime()
        defer { self.startHandlerTime() }
        var bytes: [UInt8] = []
        do throws(BodyError) {
            guard case .handling = self.state else { throw .closed }
            // Once the client sends its body, it no longer waits for 100 Continue.
            if !self.input.isEmpty { self.endContinueWait() }
            if try self.takeBody(into: &bytes, limit: limit) { return bytes }
            let deadline = ContinuousClock.now + self.limits.bodyTimeout
            if self.endContinueWait() {
                guard await self.write(ResponseEncoder.continueHead) else { throw .closed }
            }
            repeat {
                try await self.fillOrWait(until: deadline)
            } while try !self.takeBody(into: &bytes, limit: limit)
            return bytes
        } catch {
            self.body = .broken
            throw error
        }
    }

    /// Returns whether the client waits for 100 Continue, and records that the server now sends
    /// that response.
    @discardableResult
    private func endContinueWait() -> Bool {
        guard case .awaitingContinue(let framing) = self.body else { return false }
        self.body = BodyState(framing, trailerBytes: self.limits.headerBytes)
        return true
    }

    /// Moves the received part of the body to `output`. Returns whether the body is complete.
    private func takeBody(into output: inout [UInt8], limit: Int) throws(BodyError) -> Bool {
        switch self.body {
        case .whole: return true
        case .awaitingContinue: return false
        case .broken: throw .malformed
        case .length(let remaining):
            let count = min(remaining, self.input.count)
            let input = self.input
            input.withUnread { bytes in
                bytes.extracting(..<count).withUnsafeBufferPointer { output.append(contentsOf: $0) }
            }
            self.input.consume(count)
            self.body = count == remaining ? .whole : .length(remaining - count)
            return count == remaining
        case .chunked(var decoder):
            let input = self.input
            let count = try input.withUnread { (bytes) throws(BodyError) in
                try decoder.decode(bytes, into: &output, limit: limit)
            }
            self.input.consume(count)
            self.body = decoder.isFinished ? .whole : .chunked(decoder)
            return decoder.isFinished
        }
    }

    private func fillOrWait(until deadline: ContinuousClock.Instant) async throws(BodyError) {
        if self.budget.isSpent { await self.loopState.loop.yield() }
        switch self.fill() {
        case .bytes: return
        case .ended: throw .closed
        case .nothing: break
        }
        // The released memory matters, because many clients may stall in the middle of a body.
        self.releaseInput()
        do throws(WaitError) {
            try await self.stream.waitToRead(until: deadline)
        } catch {
            throw error == .timedOut ? .timedOut : .closed
        }
    }

    // MARK: Leftovers

    /// Discards the received part of an unread body, and returns how much has not arrived yet.
    func discardBuffered() -> UnreadBody {
        switch self.body {
        case .whole: return .nothing
        // A client that waits for 100 Continue may send its body or not. So the server cannot know
        // whether the next bytes are a body or a request.
        case .awaitingContinue, .broken: return .tooMuch
        case .length, .chunked: break
        }
        var dropped: [UInt8] = []
        do throws(BodyError) {
            if try self.takeBody(into: &dropped, limit: Self.drainedBytes) { return .nothing }
        } catch {
            return .tooMuch
        }
        if case .length(let remaining) = self.body, remaining <= Self.drainedBytes { return .little }
        return .tooMuch
    }

    /// After `discardBuffered` has returned `little`, reads and discards the rest of the body.
    /// Returns whether the whole rest arrived.
    func discardRemainingBody() async -> Bool {
        let deadline = ContinuousClock.now + self.limits.bodyTimeout
        do throws(BodyError) {
            while true {
                var dropped: [UInt8] = []
                if try self.takeBody(into: &dropped, limit: Self.drainedBytes) { return true }
                try await self.fillOrWait(until: deadline)
            }
        } catch {
            return false
        }
    }

    /// Ends the server's side of the connection, and continues to read for a while. If the server
    /// closed the socket while bytes are unread, the kernel would send a reset. The client's
    /// kernel would then drop the part of the response that the client has not read yet (RFC 9112
    /// §9.6).
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
            // The client has closed its side, or the deadline has passed.
        }
    }
}
