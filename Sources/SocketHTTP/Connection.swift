internal import HTTPTypes
internal import Reactor

/// One connection: requests in, responses out, one after the other. On its loop only.
///
/// Every wait has a deadline, and ends when the stream is closed from outside.
final class Connection {
    /// Why there is no further request to answer.
    private enum Ending: Error {
        case refused(Refusal)
        /// Nothing more can or need be said.
        case silent
    }

    let stream: any ByteStream
    let limits: ServerLimits
    let others: LoopConnections
    var input = InputBuffer()
    var output: [UInt8] = []
    var budget: TurnBudget
    var body = BodyFraming.none
    var chunks: ChunkDecoder?
    /// The client waits for leave to send its body.
    var awaitsContinue = false
    /// The body's end cannot be found any more, so no request can follow.
    var isBroken = false
    /// Of the body that is coming about.
    var writer: BodyWriter?

    private let responder: any Responder
    private let peer: PeerAddress
    private let proxies: TrustedProxies
    private var parser: HeadParser
    private var served = 0
    /// The client has its answer, though the handler still runs.
    private(set) var isAnswered = false
    private lazy var handlerTimer = LoopTimer(loop: self.others.loop) { [weak self] in self?.answerForHandler() }
    private var isIdle = true

    init(
        _ stream: any ByteStream,
        peer: PeerAddress,
        limits: ServerLimits,
        proxies: TrustedProxies,
        responder: any Responder,
        others: LoopConnections
    ) {
        self.stream = stream
        self.peer = peer
        self.limits = limits
        self.proxies = proxies
        self.responder = responder
        self.others = others
        self.budget = TurnBudget(on: others.loop)
        self.parser = HeadParser(limits: limits)
    }

    /// Serves until one side has had enough, and closes.
    func serve() async {
        if self.others.insert(self) {
            do throws(Ending) {
                while true {
                    try await self.readHead()
                    try await self.answer()
                }
            } catch {
                if case .refused(let refusal) = error { await self.refuse(refusal) }
            }
            self.others.remove(self)
        }
        self.close()
    }

    /// Refuses the connection itself.
    func turnAway(_ refusal: Refusal) async {
        if self.others.insert(self) {
            await self.refuse(refusal)
            self.others.remove(self)
        }
        self.close()
    }

    func close() {
        self.stream.close()
    }

    func closeIfIdle(evenIfNew: Bool = false) {
        if self.isIdle, self.served > 0 || evenIfNew { self.close() }
    }

    // MARK: - Requests

    private func readHead() async throws(Ending) {
        self.parser.reset()
        self.isIdle = self.input.isEmpty
        var deadline = self.isIdle ? ContinuousClock.now + self.patience : nil
        while try !self.parseHead() {
            if self.isIdle != self.input.isEmpty || deadline == nil {
                // From the first byte on, whenever that came.
                self.isIdle = false
                deadline = .now + self.limits.headerTimeout
            }
            try await self.fillOrWait(until: deadline ?? .now)
        }
        self.isIdle = false
    }

    /// How long nothing at all may come.
    private var patience: Duration {
        let isNew = self.served == 0
        if self.others.isStopping { return isNew ? LoopConnections.firstMoment : LoopConnections.lastMoment }
        return isNew ? self.limits.headerTimeout : self.limits.idleTimeout
    }

    /// Whether the head is complete.
    private func parseHead() throws(Ending) -> Bool {
        guard !self.input.isEmpty else { return false }
        let length: Int?
        do throws(Refusal) {
            length = try self.input.withUnread { (bytes) throws(Refusal) in try self.parser.parse(bytes) }
        } catch {
            throw .refused(error)
        }
        guard let length else { return false }
        self.input.consume(length)
        return true
    }

    private func fillOrWait(until deadline: ContinuousClock.Instant) async throws(Ending) {
        if self.budget.isSpent { await self.others.loop.yield() }
        switch self.fill() {
        case .bytes: return
        case .ended: throw .silent
        case .nothing: break
        }
        // Ten thousand connections that wait for nothing are common; a new buffer costs less than a hundred nanoseconds.
        if self.isIdle {
            self.input.release()
            self.output = []
        }
        do throws(WaitError) {
            try await self.stream.waitToRead(until: deadline)
        } catch {
            // Whoever has sent nothing has asked nothing, and hears nothing.
            throw error == .timedOut && !self.input.isEmpty ? .refused(.timedOut) : .silent
        }
    }

    private func answer() async throws(Ending) {
        if self.budget.isSpent { await self.others.loop.yield() }
        let head = self.parser.head
        self.prepareBody(head)
        let body = RequestBody(framing: head.body, limit: self.limits.bodyBytes, connection: self)
        let response = await self.response(to: head, body)
        body.detach()
        self.served += 1
        self.budget.spend()
        guard let response else {
            await self.linger()
            throw .silent
        }

        let rest = self.discardBuffered()
        let closes =
            response.closesConnection || !head.keepsAlive || rest == .tooMuch || self.others.isStopping
            || self.served >= self.limits.requestsPerConnection
            || response.production != nil && (head.isVersion10 || rest != .nothing)
        guard await self.send(response, to: head, closes: closes) else { throw .silent }
        if let production = response.production, self.isProduced(response, for: head) {
            guard await self.produce(production, for: head) else { throw .silent }
        }
        if closes {
            // A client that asked for the end sends no more, and a reset could not hurt it.
            if head.keepsAlive || rest != .nothing || !self.input.isEmpty { await self.linger() }
            throw .silent
        }
        if rest == .little, await !self.discardRest() { throw .silent }
    }

    /// Asks the handler. `nil` if it took so long that the client has been answered without it.
    private func response(to head: RequestHead, _ body: RequestBody) async -> Response? {
        let request = Request(
            head: head,
            body: body,
            peer: self.peer,
            loopIndex: self.others.loop.index,
            certificateName: self.stream.certificateName,
            proxies: self.proxies
        )
        self.startHandlerTime()
        let response = await self.responder.respond(to: request)
        self.stopHandlerTime()
        return self.isAnswered ? nil : response
    }

    func startHandlerTime() {
        guard !self.isAnswered else { return }
        self.handlerTimer.arm(at: .now + self.limits.handlerTimeout)
    }

    func stopHandlerTime() {
        self.handlerTimer.disarm()
    }

    /// Answers in place of a handler whose time is over. It is left to finish, for nobody knows what it has begun.
    private func answerForHandler() {
        self.isAnswered = true
        let head = self.parser.head
        self.encode(self.responder.refuse(.handlerTooSlow, head: head), to: head, closes: true)
        // What does not fit now is for a client that does not read, who has no claim to more.
        let isSent = (try? self.output.span.withUnsafeBytes { try self.stream.write($0) }) == self.output.count
        if isSent { self.stream.endWriting() } else { self.close() }
    }

    private func refuse(_ refusal: Refusal) async {
        let head = self.parser.fieldsAreRead ? self.parser.head : nil
        let response = self.responder.refuse(refusal, head: head)
        if await self.send(response, to: head, closes: true) { await self.linger() }
    }
}
