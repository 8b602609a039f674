internal import CCurl
internal import Glibc
internal import Reactor

/// A multi handle of libcurl and its connections. The event loop drives it, by watching its
/// sockets and by one timer. Use a pool on the loop only.
///
/// A pool lives until it is retired and its last transfer has ended.
final class ConnectionPool {
    /// After this many calls in a row without an answer, the pool's connections are given up: a
    /// peer may keep a connection open and never read from it again.
    private static let maximumUnanswered = 4

    private let loop: EventLoop
    private let ended: (Transfer, CURLcode) -> Void
    private var multi: UnsafeMutableRawPointer?
    private var timer: LoopTimer?
    private var sockets: [Int32: SocketWatch] = [:]
    /// The number of calls on this pool's connections, including those that wait for a connection.
    private(set) var transfers = 0
    /// Whether a call has been answered with 200.
    private(set) var isProven = false
    private(set) var isRetired = false
    /// Keeps a retired pool alive while transfers still run on it.
    private var whileDraining: ConnectionPool?
    /// Whether the pool must begin no further transfers, for example after the loss of a
    /// connection. libcurl itself would assign calls to the pool until all its connections have
    /// failed.
    var isUnusable = false
    /// The number of calls in a row that were given up without an answer.
    private var unanswered = 0
    private let provesConnections: Bool
    /// The maximum number of corked sockets: with more, the system calls for them would cost more
    /// than corking saves.
    private static let corkedSockets = 2

    /// With `provesConnections` in the settings, the pool has only one connection, and knows
    /// whether a call on it was answered with 200.
    init(_ settings: HTTPClientSettings, on loop: EventLoop, ended: @escaping (Transfer, CURLcode) -> Void) {
        Libcurl.start()
        guard let multi = curl_multi_init() else { preconditionFailure("out of memory") }
        self.loop = loop
        self.ended = ended
        self.multi = multi
        self.provesConnections = settings.provesConnections
        self.timer = LoopTimer(loop: loop) { [weak self] in self?.act(on: CURL_SOCKET_TIMEOUT, 0) }
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_context(multi, CURLMOPT_SOCKETDATA, context)
        ccurl_multi_set_socket_function(multi) { _, socket, what, context, _ in
            guard let context else { return -1 }
            return Unmanaged<ConnectionPool>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
        }
        ccurl_multi_set_context(multi, CURLMOPT_TIMERDATA, context)
        ccurl_multi_set_timer_function(multi) { _, milliseconds, context in
            guard let context else { return -1 }
            Unmanaged<ConnectionPool>.fromOpaque(context).takeUnretainedValue().wakeUp(in: milliseconds)
            return 0
        }
        ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ccurl_multi_set_long(
            multi,
            CURLMOPT_MAX_HOST_CONNECTIONS,
            settings.provesConnections ? 1 : settings.connectionsPerHost
        )
        ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, settings.streamsPerConnection)
    }

    deinit {
        self.close()
    }

    func add(_ transfer: Transfer) throws(OutboundError) {
        guard curl_multi_add_handle(self.multi, transfer.easy) == CURLM_OK else {
            throw .interrupted("the transfer could not be started")
        }
        self.transfers += 1
    }

    /// Whether a call may open a connection. With `provesConnections`, it may not if an earlier
    /// call was answered with 200: the pool had a connection and has lost it. On a new connection,
    /// libcurl would send all waiting calls before the first one is answered.
    func allowConnection() -> Bool {
        if self.provesConnections, self.isProven { self.isUnusable = true }
        return !(self.provesConnections && self.isUnusable)
    }

    /// Records how a call on the pool's connections ended.
    func record(_ outcome: Call.Outcome) {
        guard case .success(let response) = outcome else { return }
        if response.status == 200 { self.isProven = true }
        self.unanswered = 0
    }

    /// Records that a call was given up without an answer.
    func recordSilence() {
        self.unanswered += 1
        let isProbe = self.provesConnections && !self.isProven
        if isProbe || self.unanswered >= Self.maximumUnanswered { self.isUnusable = true }
    }

    /// Ends a transfer without its result: its stream is reset, or its connection closed.
    func remove(_ transfer: Transfer) {
        self.detach(transfer)
        self.closeIfDrained()
    }

    /// Makes the pool begin no further transfers, and close its connections after the current
    /// transfers have ended.
    func retire() {
        self.isRetired = true
        self.whileDraining = self
        self.closeIfDrained()
    }

    fileprivate func act(on socket: curl_socket_t, _ events: Int32) {
        // libcurl writes each frame with a separate system call; corking the sockets makes the
        // kernel send the frames in as few packets as possible.
        let corks = self.sockets.count <= Self.corkedSockets
        if corks { for watch in self.sockets.values { watch.cork() } }
        // The sockets are listed again for uncorking, because libcurl may have opened some
        // meanwhile.
        defer { if corks { for watch in self.sockets.values { watch.uncork() } } }
        var stillRunning: Int32 = 0
        if curl_multi_socket_action(self.multi, socket, events, &stillRunning) != CURLM_OK { self.isUnusable = true }
        var queued: Int32 = 0
        while let message = curl_multi_info_read(self.multi, &queued) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            // The message is read first, because it is gone once the handle is removed.
            let code = ccurl_message_result(message)
            var context: UnsafeMutableRawPointer?
            ccurl_get_context(message.pointee.easy_handle, &context)
            guard let context else { preconditionFailure("a handle without its transfer") }
            let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            self.detach(transfer)
            self.ended(transfer, code)
        }
        self.closeIfDrained()
    }

    // MARK: - Private

    private func detach(_ transfer: Transfer) {
        curl_multi_remove_handle(self.multi, transfer.easy)
        self.transfers -= 1
    }

    private func closeIfDrained() {
        guard self.isRetired, self.transfers == 0 else { return }
        self.close()
        self.whileDraining = nil
    }

    private func close() {
        self.timer?.disarm()
        guard let multi = self.multi.take() else { return }
        curl_multi_cleanup(multi)
        // `curl_multi_cleanup` has closed the pool's remaining sockets without asking the pool to
        // end their watches, so the pool ends these watches here.
        for watch in self.sockets.values { watch.end() }
        self.sockets.removeAll()
    }

    /// Handles libcurl's request to watch a socket; returns a value other than 0 if the watch
    /// fails.
    private func watch(_ socket: curl_socket_t, _ what: Int32) -> Int32 {
        if what == CURL_POLL_REMOVE {
            let watch = self.sockets.removeValue(forKey: socket)
            // The socket stays open: libcurl keeps the connection of a finished call for the next
            // one.
            watch?.uncork()
            watch?.end()
            return 0
        }
        var interest: Readiness = []
        if what & CURL_POLL_IN != 0 { interest.insert(.read) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
        if let watch = self.sockets[socket] {
            watch.change(to: interest)
            return 0
        }
        do throws(SystemError) {
            let watch = SocketWatch(socket, of: self, on: self.loop)
            try watch.begin(interest)
            self.sockets[socket] = watch
            return 0
        } catch {
            self.isUnusable = true
            return -1
        }
    }

    private func wakeUp(in milliseconds: Int) {
        if milliseconds < 0 {
            self.timer?.disarm()
        } else {
            self.timer?.arm(at: .now + .milliseconds(milliseconds))
        }
    }
}

/// One socket of a pool.
private final class SocketWatch: ReadinessHandler {
    private let socket: curl_socket_t
    private weak var pool: ConnectionPool?
    private let loop: EventLoop
    private var token: WatchToken?
    private var isCorked = false

    init(_ socket: curl_socket_t, of pool: ConnectionPool, on loop: EventLoop) {
        self.socket = socket
        self.pool = pool
        self.loop = loop
    }

    /// The watch is level-triggered, because libcurl does not promise to read all available bytes.
    func begin(_ interest: Readiness) throws(SystemError) {
        self.token = try self.loop.watch(self.socket, for: interest, trigger: .level, handler: self)
    }

    func change(to interest: Readiness) {
        guard let token else { return }
        self.loop.change(token, of: self.socket, to: interest, trigger: .level)
    }

    /// Makes the kernel hold back partial packets until `uncork()`, for at most 200 ms.
    func cork() {
        self.isCorked = self.setCork(1)
    }

    func uncork() {
        if self.isCorked { _ = self.setCork(0) }
        self.isCorked = false
    }

    private func setCork(_ value: Int32) -> Bool {
        var value = value
        return setsockopt(self.socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    func end() {
        guard let token = self.token.take() else { return }
        self.loop.forget(token, of: self.socket)
    }

    func handle(_ readiness: Readiness) {
        var events: Int32 = 0
        if readiness.contains(.read) { events |= CURL_CSELECT_IN }
        if readiness.contains(.write) { events |= CURL_CSELECT_OUT }
        if readiness.contains(.hangUp) { events |= CURL_CSELECT_ERR }
        self.pool?.act(on: self.socket, events)
    }
}
