internal import HTTPTypes
internal import Reactor

/// One connection: requests in, responses out, one after the other. Use it on its loop only.
///
/// Every wait has a deadline, and ends when the stream is closed from outside. For a small request
/// with a small answer, only `serve` waits. The functions that it calls decide and act at once,
/// since each function that may wait costs 500 instructions more.
final class Connection {
    /// The reason why there is no further request to answer.
    enum Ending: Error {
        case refused(Refusal)
        /// The client gets no further answer.
        case silent
    }

    let stream: any ByteStream
    let limits: ServerLimits
    let loopState: LoopConnections
    var state = ConnectionState.idle
    var input = InputBuffer()
    var output: [UInt8] = []
    var body = BodyState.whole
    let budget: TurnBudget

    private let responder: any Responder
    private let peer: PeerAddress
    private let proxies: TrustedProxies
    var parser: HeadParser
    /// The number of answered requests.
    private(set) var served = 0
    /// The instant that belongs to `state`. It is separate, because an enum with an instant is
    /// slow to copy.
    var mark: ContinuousClock.Instant
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

    /// Serves requests until one side ends the connection, and closes it.
    func serve() async {
        if self.loopState.insert(self) {
            do throws(Ending) {
                while true {
                    // Nothing refers to the last request here, so that the parser reuses its
                    // memory.
                    self.awaitRequest()
                    while let pause = try self.readHead() {
                        let failure = await withUnsafeContinuation { self.resume($0, after: pause) }
                        if let failure { throw self.ending(after: failure) }
                    }
                    let request = self.beginHandling()
                    let response: Response
                    switch self.responder.respond(to: request) {
                    case .now(let made): response = made
                    case let reply:
                        self.startHandlerTime()
                        response = await reply.response
                        self.stopHandlerTime()
                    }
                    request.body.detach()
                    if let unfinished = try self.answer(response, to: request.head) {
                        try await self.finish(unfinished)
                    }
                }
            } catch {
                if case .refused(let refusal) = error { await self.refuse(refusal) }
            }
            self.loopState.remove(self)
        }
        self.handlerTimer.abandon()
        self.close()
    }

    /// Refuses the whole connection, before any request.
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

    /// Closes an idle connection to make room; `false` if a request has begun since.
    func close(ifIdleSince since: ContinuousClock.Instant) -> Bool {
        guard self.idleSince == since else { return false }
        self.close()
        return true
    }

    /// The time at which the connection became idle; `nil` if a request has begun.
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

    // MARK: - Handlers

    private func beginHandling() -> Request {
        let head = self.parser.head
        self.prepareBody(head)
        self.state = .handling
        return Request(
            head: head,
            body: RequestBody(framing: head.body, limit: self.limits.bodyBytes, connection: self),
            peer: self.peer,
            loopIndex: self.loopState.loop.index,
            certificateName: self.stream.certificateName,
            isEncrypted: self.stream.isEncrypted,
            proxies: self.proxies
        )
    }

    /// Sends a handler's response; returns the work that has to wait.
    private func answer(_ response: Response, to head: RequestHead) throws(Ending) -> Unfinished? {
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

    /// Whether no other request can follow this one on the connection.
    private func mustClose(after response: Response, to head: RequestHead, leaving unread: UnreadBody) -> Bool {
        if response.closesConnection || !head.keepsAlive { return true }
        if self.loopState.isStopping || self.served >= self.limits.requestsPerConnection { return true }
        guard response.streamingBody != nil else { return unread == .tooMuch }
        // In HTTP/1.0, the end of the connection is the end of a streaming body. If a part of the
        // request body is still missing, it would arrive while the server watches whether the
        // client ends its side.
        return head.isVersion10 || unread != .nothing
    }

    func startHandlerTime() {
        guard case .handling = self.state else { return }
        self.handlerTimer.arm(at: self.loopState.loop.now + self.limits.handlerTimeout)
    }

    func stopHandlerTime() {
        self.handlerTimer.disarm()
    }

    /// Answers in place of a handler whose time has passed. The handler continues: cancelling it
    /// could leave its work half done.
    private func answerForHandler() {
        self.state = .overdue
        let head = self.parser.head
        self.encode(self.responder.refuse(.handlerTooSlow, head: head), to: RequestTraits(head), closes: true)
        // If the socket does not take the whole answer, the client does not read; then the
        // connection closes without the remaining bytes.
        let output = self.output
        let isSent = (try? output.span.withUnsafeBytes { try self.stream.write($0) }) == output.count
        if isSent { self.stream.endWriting() } else { self.close() }
    }
}
