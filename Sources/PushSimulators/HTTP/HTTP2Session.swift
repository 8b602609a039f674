internal import CNghttp2

/// One HTTP/2 connection without its input and output. It turns bytes into requests, and answers
/// into bytes.
///
/// nghttp2 enforces the rules: flow control, header compression, lower-case names, limits on
/// streams. Use it on one thread only.
final class HTTP2Session {
    /// A complete request, and the stream on which its answer is sent.
    struct Arrival {
        let stream: Int32
        let request: SimulatedRequest
    }

    /// A protocol error by the client, or a failure of nghttp2.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(code: Int) {
            self.description = String(cString: nghttp2_strerror(Int32(code)))
        }
    }

    /// The request that a stream receives and the answer that it sends.
    struct Stream {
        var request = SimulatedRequest(method: "", path: "")
        var answer: [UInt8] = []
        var sentCount = 0
    }

    /// The longest body, in bytes; a longer one is refused by resetting its stream.
    static let bodyLimit = 1024 * 1024
    /// The number of bytes that are collected before a write.
    private static let outputSize = 64 * 1024

    private var session: OpaquePointer?
    private var streams: [Int32: Stream] = [:]
    private var arrivals: [Arrival] = []
    private let streamLimit: Int
    private let provenStreamLimit: Int
    private var clientIsProven = false

    /// Starts the server's side. The limits are for the client's concurrent requests:
    /// `streamLimit` applies at first, and `provenStreamLimit` after an answer has authenticated
    /// the client.
    init(streamLimit: Int, provenStreamLimit: Int, allowsBodies: Bool = true) throws(Failure) {
        self.streamLimit = streamLimit
        self.provenStreamLimit = provenStreamLimit
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        HTTP2Callbacks.set(on: callbacks)
        var option: OpaquePointer?
        nghttp2_option_new(&option)
        defer { nghttp2_option_del(option) }
        // libcurl 7.88 resets each stream after its answer. Without this option, nghttp2 would
        // treat the resets as an attack (CVE-2023-44487).
        nghttp2_option_set_stream_reset_rate_limit(option, .max, .max)
        // The pointer need not retain the session: nghttp2 runs callbacks only during calls of
        // this session.
        let context = Unmanaged.passUnretained(self).toOpaque()
        let code = nghttp2_session_server_new2(&self.session, callbacks, context, option)
        guard code == 0 else { throw Failure(code: Int(code)) }
        self.allow(streams: streamLimit)
        if !allowsBodies { self.submit(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0) }
    }

    deinit {
        nghttp2_session_del(self.session)
    }

    /// Whether neither side has anything more to send.
    var isFinished: Bool {
        nghttp2_session_want_read(self.session) == 0 && nghttp2_session_want_write(self.session) == 0
    }

    /// Processes bytes from the client, and returns the requests that they completed.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> [Arrival] {
        let count = nghttp2_session_mem_recv(self.session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        guard count >= 0 else { throw Failure(code: count) }
        defer { self.arrivals.removeAll(keepingCapacity: true) }
        return self.arrivals
    }

    /// Queues the answer; drops it if the client has cancelled the stream.
    func respond(_ response: SimulatedResponse, on stream: Int32) {
        if response.provesClient, !self.clientIsProven {
            self.clientIsProven = true
            if self.provenStreamLimit != self.streamLimit { self.allow(streams: self.provenStreamLimit) }
        }
        guard self.streams[stream] != nil else { return }
        self.streams[stream]?.answer = response.body
        var block = HeaderBlock()
        block.append(name: ":status", value: String(response.status))
        for header in response.headers { block.append(name: header.name.lowercased(), value: header.value) }
        if !response.body.isEmpty { block.append(name: "content-length", value: String(response.body.count)) }
        var provider = HTTP2Callbacks.bodyProvider
        block.withFields { fields in
            if response.body.isEmpty {
                nghttp2_submit_response(self.session, stream, fields.baseAddress, fields.count, nil)
            } else {
                nghttp2_submit_response(self.session, stream, fields.baseAddress, fields.count, &provider)
            }
        }
    }

    /// Resets a stream, and says that its request was not processed.
    func refuse(_ stream: Int32) {
        self.streams[stream] = nil
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        nghttp2_submit_rst_stream(self.session, flags, stream, NGHTTP2_REFUSED_STREAM.rawValue)
    }

    /// Announces that no stream after `last` gets an answer. If `last` is `nil`, all streams that
    /// were received so far still get an answer.
    func goAway(after last: Int32? = nil, reason: String? = nil) {
        let debugData = Array((reason.map { #"{"reason":"\#($0)"}"# } ?? "").utf8)
        nghttp2_submit_goaway(
            self.session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            last ?? nghttp2_session_get_last_proc_stream_id(self.session),
            NGHTTP2_NO_ERROR.rawValue,
            debugData,
            debugData.count
        )
    }

    /// Moves pending bytes to the end of `output`, up to the size of one write.
    func takeOutput(into output: inout [UInt8]) throws(Failure) {
        while output.count < Self.outputSize {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(self.session, &bytes)
            guard count >= 0 else { throw Failure(code: count) }
            if count == 0 { return }
            output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
    }

    // MARK: - What the callbacks report

    func began(_ stream: Int32) {
        self.streams[stream] = Stream()
    }

    func received(_ field: HeaderField, on stream: Int32) {
        switch field.name {
        case ":method": self.streams[stream]?.request.method = field.value
        case ":path": self.streams[stream]?.request.path = field.value
        case let name where name.utf8.first == UInt8(ascii: ":"): break
        default: self.streams[stream]?.request.headers.append(field)
        }
    }

    func received(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32) {
        guard let count = self.streams[stream]?.request.body.count else { return }
        guard count + bytes.count <= Self.bodyLimit else {
            self.streams[stream] = nil
            let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
            nghttp2_submit_rst_stream(self.session, flags, stream, NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
            return
        }
        self.streams[stream]?.request.body.append(contentsOf: bytes)
    }

    func completed(_ stream: Int32) {
        guard let request = self.streams[stream]?.request else { return }
        self.arrivals.append(Arrival(stream: stream, request: request))
        // The handler has the request now. If this object kept a second reference to it, the
        // handler's first change would copy the request.
        self.streams[stream]?.request = SimulatedRequest(method: "", path: "")
    }

    func closed(_ stream: Int32) {
        self.streams[stream] = nil
    }

    /// Copies the next piece of the answer; `isLast` is true if this piece was the last.
    func takeAnswer(of stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
        guard let state = self.streams[stream] else { return (0, true) }
        let piece = state.answer[state.sentCount...].prefix(buffer.count)
        _ = buffer.update(fromContentsOf: piece)
        let end = state.sentCount + piece.count
        self.streams[stream]?.sentCount = end
        return (piece.count, end == state.answer.count)
    }

    private func allow(streams: Int) {
        self.submit(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams)
    }

    private func submit(_ setting: nghttp2_settings_id, _ value: Int) {
        var setting = nghttp2_settings_entry(settings_id: Int32(setting.rawValue), value: UInt32(value))
        nghttp2_submit_settings(self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &setting, 1)
    }
}
