internal import HTTPTypes
internal import Reactor

/// One connection, which reads requests and answers them one after the other. Use it on its event
/// loop only.
///
/// Every wait has a deadline, and also ends when other code closes the stream. For a small request
/// with a small answer, no task runs: the stream calls `resume`, which answers and then waits for
/// the next request.
final class Connection: Resumable {
    /// The reason why the connection answers no further request.
    enum Ending: Error {
        case refused(Refusal)
        /// The client gets no further answer.
        case silent
    }

    /// Work that only the connection's task can do.
    private enum TaskWork {
        /// The other tasks of the event loop run before the next step.
        case turn
        case reply(Reply, Request)
        case unfinished(Unfinished)
        case end(Ending)
    }

    let stream: any ByteStream
    let limits: ServerLimits
    let loopState: LoopConnections
    @exclusivity(unchecked) var state = ConnectionState.idle
    @exclusivity(unchecked) var input = InputBuffer()
    @exclusivity(unchecked) var output: [UInt8] = []
    @exclusivity(unchecked) var body = BodyState.whole
    let budget: TurnBudget

    private let responder: any Responder
    private let peer: PeerAddress
    private let proxies: TrustedProxies
    private let memory = ConnectionMemory()
    @exclusivity(unchecked) var parser: HeadParser
    /// The number of answered requests.
    private(set) var served = 0
    /// In the state `idle`, the instant at which it began; in `reading`, the deadline for the
    /// head. It is not a part of `state`, because an enum that contains an instant is slow to
    /// copy.
    @exclusivity(unchecked) var mark: ContinuousClock.Instant
    /// The connection's task, while it sleeps.
    @exclusivity(unchecked) private var task: UnsafeContinuation<Void, Never>?
    private var work: TaskWork?
    /// The end of a wait that `resume` has not handled yet: `nil` inside, or why the wait failed.
    @exclusivity(unchecked) private var endOfWait: WaitError??
    @exclusivity(unchecked) private var isServing = false
    private lazy var handlerTimer = LoopTimer(loop: self.loopState.loop) { [weak self] in self?.answerForHandler() }

    init(
        _ stream: any ByteStream,
        peer: PeerAddress,
        limits: ServerLimits,
        proxies: TrustedProxies,
        responder: any Responder,
        loopState: LoopConnections
    ) {
        self.stream = stream
        self.peer = peer
        self.limits = limits
        self.proxies = proxies
        self.responder = responder
        self.loopState = loopState
        self.mark = loopState.loop.now
        self.budget = TurnBudget(on: loopState.loop)
        self.parser = HeadParser(limits: limits)
    }

    /// Serves requests until the client or the server ends the connection; then closes it.
    ///
    /// The task only sleeps while the connection waits for requests and answers them at once.
    func serve() async {
        if self.loopState.insert(self) {
            do throws(Ending) {
                self.awaitRequest()
                while true {
                    await withUnsafeContinuation { self.serveAtOnce(before: $0) }
                    switch self.work.take() {
                    case .turn:
                        _ = await withUnsafeContinuation { self.loopState.loop.afterOthers(resume: .task($0)) }
                        continue
                    case .reply(let reply, let request):
                        self.startHandlerTime()
                        // There is no answer to an error of the responder.
                        guard let response = try? await reply.response else { throw .silent }
                        self.stopHandlerTime()
                        if let unfinished = try self.answer(response, to: request) {
                            try await self.finish(unfinished)
                        }
                    case .unfinished(let unfinished): try await self.finish(unfinished)
                    case .end(let ending): throw ending
                    case nil: continue
                    }
                    self.awaitRequest()
                }
            } catch {
                if case .refused(let refusal) = error { await self.refuse(refusal) }
            }
            self.loopState.remove(self)
        }
        self.handlerTimer.abandon()
        self.close()
    }

    /// Answers a refused connection before any request, and closes it.
    func refuseConnection(_ refusal: Refusal) async {
        if self.loopState.insert(self) {
            await self.refuse(refusal)
            self.loopState.remove(self)
        }
        self.close()
    }

    func close() {
        self.stream.close()
    }

    func closeIfIdle(evenIfNew: Bool = false) {
        if self.idleSince != nil, self.served > 0 || evenIfNew { self.close() }
    }

    /// Closes an idle connection to make room for other connections; `false` if a request has
    /// begun after `since`.
    func close(ifIdleSince since: ContinuousClock.Instant) -> Bool {
        guard self.idleSince == since else { return false }
        self.close()
        return true
    }

    /// The instant at which the connection became idle; `nil` while a request is being read or
    /// answered.
    var idleSince: ContinuousClock.Instant? {
        if case .idle = self.state { self.mark } else { nil }
    }

    // MARK: - Private

    private func refuse(_ refusal: Refusal) async {
        let head = self.parser.fieldsAreRead ? self.parser.head : nil
        let response = self.responder.refuse(refusal, head: head)
        self.state = .answering
        if await self.send(response, to: head) { await self.linger() }
    }

    // MARK: - Serving without the task

    private func serveAtOnce(before task: UnsafeContinuation<Void, Never>) {
        self.task = task
        self.resume(returning: nil)
    }

    /// Continues after a wait for input, until the connection waits again or its task has work.
    func resume(returning failure: WaitError?) {
        self.endOfWait = .some(failure)
        // A stream may end a wait before `awaitInput` returns. The loop below then continues.
        guard !self.isServing else { return }
        self.isServing = true
        while let end = self.endOfWait {
            self.endOfWait = .none
            guard let work = end.map({ TaskWork.end(self.ending(after: $0)) }) ?? self.serveRequests() else {
                self.awaitInput()
                // A stream that never waits must not keep the loop from other work.
                if self.endOfWait != nil { self.budget.spend() }
                continue
            }
            self.work = work
            self.isServing = false
            // Nothing follows: if the loop has ended, the task continues on another thread.
            self.task.take()?.resume()
            return
        }
        self.isServing = false
    }

    /// Reads and answers requests; `nil` if the next request has not arrived yet.
    private func serveRequests() -> TaskWork? {
        do throws(Ending) {
            while true {
                switch try self.readHead() {
                case .input: return nil
                case .turn: return .turn
                case nil: break
                }
                if let work = try self.handleRequest() { return work }
                // No variable refers to the last request any more, so the parser can reuse its
                // memory.
                self.awaitRequest()
            }
        } catch {
            return .end(error)
        }
    }

    /// Handles the request whose head was read; `nil` if the request is answered.
    private func handleRequest() throws(Ending) -> TaskWork? {
        let request = self.beginHandling()
        switch self.responder.respond(to: request) {
        case .now(let response): return try self.answer(response, to: request).map { .unfinished($0) }
        case let reply: return .reply(reply, request)
        }
    }

    // MARK: - Handlers

    private func beginHandling() -> Request {
        let head = self.parser.head
        self.prepareBody(head)
        self.state = .handling
        return Request(
            head: head,
            body: head.body == .none
                ? self.loopState.emptyBody
                : RequestBody(framing: head.body, limit: self.limits.bodyBytes, connection: self),
            peer: self.peer,
            loopIndex: self.loopState.loop.index,
            certificateName: self.stream.certificateName,
            isEncrypted: self.stream.isEncrypted,
            proxies: self.proxies,
            memory: self.memory
        )
    }

    /// Sends a handler's response as far as that needs no wait; returns the remaining work.
    private func answer(_ response: Response, to request: Request) throws(Ending) -> Unfinished? {
        request.body.detach()
        let head = request.head
        self.served += 1
        self.budget.spend()
        switch self.state {
        case .overdue: return .lingering
        case .lost: throw .silent
        default: self.state = .answering
        }
        let unread = self.discardBuffered()
        let closes = self.mustClose(after: response, to: head, leaving: unread)
        let isWhole = self.encode(response, to: RequestTraits(head), closes: closes)
        let isSent = try self.flushAtOnce() && isWhole
        if isSent, !closes, unread == .nothing, response.streamingBody == nil { return nil }
        return .answer(response, head, sendsBody: !isWhole, unread: unread, closes: closes)
    }

    /// Whether the connection must be closed after the response.
    private func mustClose(after response: Response, to head: RequestHead, leaving unread: UnreadBody) -> Bool {
        if response.closesConnection || !head.keepsAlive { return true }
        if self.loopState.isStopping || self.served >= self.limits.requestsPerConnection { return true }
        guard response.streamingBody != nil else { return unread == .tooMuch }
        // In HTTP/1.0, a streaming body ends with the connection. In HTTP/1.1, the server reads
        // while it streams, to notice when the client ends its side. If a part of the request's
        // body is missing, these reads would take its bytes for those of later requests.
        return head.isVersion10 || unread != .nothing
    }

    func startHandlerTime() {
        guard case .handling = self.state else { return }
        self.handlerTimer.arm(at: self.loopState.loop.now + self.limits.handlerTimeout)
    }

    func stopHandlerTime() {
        self.handlerTimer.disarm()
    }

    /// Answers in place of a handler whose time has passed. The handler continues to run: if it
    /// were cancelled, its work could be left half done.
    private func answerForHandler() {
        self.state = .overdue
        let head = self.parser.head
        self.encode(self.responder.refuse(.handlerTooSlow, head: head), to: RequestTraits(head), closes: true)
        // If the socket does not accept the whole answer, the client does not read. The connection
        // is then closed, and the remaining bytes are lost.
        let output = self.output
        let isSent = (try? output.span.withUnsafeBytes { try self.stream.write($0) }) == output.count
        if isSent { self.stream.endWriting() } else { self.close() }
    }
}
