internal import Reactor

/// Reading the heads of requests, and waiting for them.
extension Connection {
    /// A wait before the next step.
    enum Pause {
        case input(until: ContinuousClock.Instant)
        /// Other tasks of the loop run first.
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

    /// Continues to read. Returns `nil` when the head is complete.
    func readHead() throws(Ending) -> Pause? {
        while true {
            if self.budget.isSpent { return .turn }
            if try self.parseHead() { return nil }
            if case .idle = self.state, !self.input.isEmpty { self.awaitHead() }
            switch self.fill() {
            case .bytes: continue
            case .ended: throw .silent
            case .nothing: return .input(until: self.headDeadline())
            }
        }
    }

    func resume(_ waiter: Waiter, after pause: Pause) {
        switch pause {
        case .turn: self.loopState.loop.afterOthers(resume: waiter)
        case .input(let deadline): self.stream.whenReadable(until: deadline, resume: waiter)
        }
    }

    /// The deadline of the wait for bytes; releases the memory that an idle connection does not
    /// need.
    private func headDeadline() -> ContinuousClock.Instant {
        guard case .idle = self.state else { return self.mark }
        // The memory matters, because ten thousand idle connections are common.
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

    /// Moves `input` to a variable, whose uses need no check for exclusive access.
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
        // A client that has sent no bytes has made no request, and gets no answer.
        failure == .timedOut && !self.input.isEmpty ? .refused(.timedOut) : .silent
    }

    /// Whether the head is complete.
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
