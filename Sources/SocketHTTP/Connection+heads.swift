internal import Reactor

/// Waits for requests, and reads their heads.
extension Connection {
    /// The event that the connection must await before its next step. The deadline is not a part
    /// of it, because an enum that contains an instant is slow to copy.
    enum Pause {
        case input
        /// The other tasks of the event loop run before the next step.
        case turn
    }

    func awaitRequest() {
        self.parser.reset()
        guard self.input.isEmpty else { return self.awaitHead() }
        self.state = .idle
        self.mark = self.loopState.loop.now
    }

    private func awaitHead() {
        self.state = .reading
        self.mark = self.loopState.loop.now + self.limits.headerTimeout
    }

    /// Continues to read the head of a request. Returns `nil` once the head is complete.
    func readHead() throws(Ending) -> Pause? {
        while true {
            if self.budget.isSpent { return .turn }
            if try self.parseHead() { return nil }
            if case .idle = self.state, !self.input.isEmpty { self.awaitHead() }
            switch self.fill() {
            case .bytes: continue
            case .ended: throw .silent
            case .nothing: return .input
            }
        }
    }

    func awaitInput() {
        self.stream.whenReadable(until: self.headDeadline(), resume: .object(self))
    }

    /// The deadline of the wait for bytes. If the connection is idle, this function also releases
    /// memory that the connection does not need.
    private func headDeadline() -> ContinuousClock.Instant {
        guard case .idle = self.state else { return self.mark }
        // The released memory matters, because a server often has ten thousand idle connections.
        self.releaseInput()
        self.parser.release()
        let isNew = self.served == 0
        let timeout: Duration
        if self.loopState.isStopping {
            timeout = isNew ? LoopConnections.firstMoment : LoopConnections.lastMoment
        } else {
            timeout = isNew ? self.limits.headerTimeout : self.limits.idleTimeout
        }
        return self.mark + timeout
    }

    /// Moves `input` to a local variable, which needs no checks for exclusive access.
    func takeInput() -> InputBuffer {
        var input = InputBuffer()
        swap(&input, &self.input)
        return input
    }

    func releaseInput() {
        var input = self.takeInput()
        input.release(to: &self.loopState.spares)
        self.input = input
    }

    func ending(after failure: WaitError) -> Ending {
        // A client that has sent no bytes of a request gets no answer.
        failure == .timedOut && !self.input.isEmpty ? .refused(.timedOut) : .silent
    }

    /// Parses the bytes that have arrived; returns whether the head is complete.
    private func parseHead() throws(Ending) -> Bool {
        guard !self.input.isEmpty else { return false }
        let length: Int?
        do throws(Refusal) {
            var input = self.takeInput()
            defer { self.input = input }
            length = try input.withUnread { (bytes) throws(Refusal) in try self.parser.parse(bytes) }
            if let length { input.consume(length) }
        } catch {
            throw .refused(error)
        }
        return length != nil
    }
}
