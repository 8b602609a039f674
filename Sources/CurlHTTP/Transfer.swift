internal import Bytes
internal import CCurl
internal import Glibc
internal import Reactor

/// An easy handle of libcurl, with all data that must stay in memory as long as its request. It is
/// used for one call after the other. Use it on the loop only.
final class Transfer {
    /// The result of a call that libcurl has finished.
    enum Completion {
        /// The call's pool was not allowed to open a connection: nothing was sent, and the call
        /// waits for another pool, ahead of all other calls.
        case notSent
        /// The connection was lost before a 2xx status arrived: the call is repeated on a new
        /// connection.
        case interrupted
        case ended(Call.Outcome)
    }

    /// The maximum number of repeats of an interrupted call. Without repeats, one GOAWAY or one
    /// reset could make a hundred calls fail.
    private static let maximumRepeats = 2

    let easy: UnsafeMutableRawPointer
    /// The pool that runs the call.
    var pool: ConnectionPool?
    var deadline: LoopTimer?

    private let addresses: AddressPolicy
    /// Whether the call goes to a unix socket that the operator has configured, and not to an
    /// address.
    private let isLocal: Bool
    private let maximumBody: Int
    private let maximumHeader: Int
    private var method: OutboundRequest.Method?
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var upload = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var body: [UInt8] = []
    /// The number of bytes of all header lines so far: of informational answers, of the answer and
    /// of its trailer.
    private var headerBytes = 0
    private var sawRefusedAddress = false
    /// Whether the call needed a connection that its pool was not allowed to open; nothing was
    /// sent.
    private var sawSpentPool = false
    /// How often the call has been repeated after an interruption.
    private var repeats = 0
    private var isTooLarge = false

    init(_ settings: HTTPClientSettings) {
        Libcurl.start()
        guard let easy = curl_easy_init() else { preconditionFailure("out of memory") }
        self.easy = easy
        self.addresses = settings.addresses
        self.isLocal = settings.unixSocket != nil
        self.maximumBody = settings.maximumResponseBody
        self.maximumHeader = settings.maximumResponseHeader
        Self.configure(easy, settings)
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_PRIVATE, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA] {
            ccurl_set_context(easy, option, context)
        }
        ccurl_set_write_function(easy) { bytes, size, count, context in
            guard let context else { return 0 }
            let received = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().receive(received)
        }
        ccurl_set_header_function(easy) { _, size, count, context in
            guard let context else { return 0 }
            return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().countHeader(size * count)
        }
        ccurl_set_open_socket_function(easy) { context, _, address in
            guard let context, let address else { return -1 }
            return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().openSocket(for: address)
        }
    }

    deinit {
        curl_easy_cleanup(self.easy)
        curl_slist_free_all(self.headers)
        self.upload.deallocate()
    }

    /// Sets the options of one request; `configure` has already set the options that never change.
    func load(_ request: OutboundRequest) throws(OutboundError) {
        var headers: UnsafeMutablePointer<curl_slist>?
        // A header name without a value prevents libcurl from adding this header.
        for line in ["Accept:", "Expect:", "Content-Type:"] { headers = curl_slist_append(headers, line) }
        for header in request.headers {
            guard header.isWellFormed else {
                curl_slist_free_all(headers)
                throw .badRequest("malformed header \(header.name)")
            }
            headers = curl_slist_append(headers, header.line)
        }
        self.headers = headers
        ccurl_set_headers(self.easy, headers)
        ccurl_set_text(self.easy, CURLOPT_URL, request.url.text)
        switch request.method {
        case .get:
            if self.method != .get { ccurl_set_long(self.easy, CURLOPT_HTTPGET, 1) }
        case .post:
            if self.method != .post { ccurl_set_long(self.easy, CURLOPT_POST, 1) }
            self.setUpload(request.body)
        }
        self.method = request.method
    }

    /// The result of the call, which libcurl has ended with `code`.
    func completion(of code: CURLcode) -> Completion {
        if self.sawSpentPool { return .notSent }
        if self.isInterrupted(code), self.repeats < Self.maximumRepeats { return .interrupted }
        return .ended(self.outcome(of: code))
    }

    /// Prepares to send the same request again.
    func rewind() {
        self.body = []
        self.headerBytes = 0
        self.isTooLarge = false
        self.sawSpentPool = false
    }

    /// Prepares to send the same request again, and counts the repeat.
    func beginRepeat() {
        self.repeats += 1
        self.rewind()
    }

    /// Discards the state of the last request, so that the handle can perform another.
    func unload() {
        ccurl_set_headers(self.easy, nil)
        curl_slist_free_all(self.headers)
        self.headers = nil
        self.sawRefusedAddress = false
        self.repeats = 0
        self.rewind()
    }

    // MARK: - Private

    /// The status of the response; 0 until one arrives.
    private var status: Int {
        var status = 0
        ccurl_get_long(self.easy, CURLINFO_RESPONSE_CODE, &status)
        return status
    }

    /// The status with which the proxy has refused the tunnel; `nil` if the proxy has not refused
    /// it.
    private var proxyRefusal: Int? {
        var status = 0
        ccurl_get_long(self.easy, CURLINFO_HTTP_CONNECTCODE, &status)
        return status >= 300 ? status : nil
    }

    private static let interruptions = [
        CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM,
    ]

    /// Whether the call lost its connection before a 2xx status told that the peer has handled it.
    private func isInterrupted(_ code: CURLcode) -> Bool {
        guard !self.isTooLarge, !(200..<300).contains(self.status), self.proxyRefusal == nil else { return false }
        return Self.interruptions.contains(code)
    }

    private func outcome(of code: CURLcode) -> Call.Outcome {
        // If the connection is lost, a 2xx status without a body counts as success: libcurl may
        // see the end of the connection before it processes the end of a stream that has already
        // arrived.
        let isSuccessCutShort =
            Self.interruptions.contains(code) && (200..<300).contains(self.status) && self.body.isEmpty
        guard code == CURLE_OK || isSuccessCutShort else { return .failure(self.error(for: code)) }
        return .success(OutboundResponse(status: self.status, headers: self.responseHeaders(), body: self.body))
    }

    private func setUpload(_ bytes: [UInt8]) {
        if self.upload.count < bytes.count || self.upload.baseAddress == nil {
            self.upload.deallocate()
            self.upload = .allocate(byteCount: max(bytes.count, 256), alignment: 1)
        }
        self.upload.copyBytes(from: bytes)
        ccurl_set_length(self.easy, curl_off_t(bytes.count))
        ccurl_set_bytes(self.easy, self.upload.baseAddress)
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard self.body.count + bytes.count <= self.maximumBody else {
            self.isTooLarge = true
            // A result that differs from the number of offered bytes makes libcurl abort the
            // transfer.
            return bytes.isEmpty ? 1 : 0
        }
        self.body.append(contentsOf: bytes)
        return bytes.count
    }

    /// Counts a line of the header, since `CURLOPT_MAXFILESIZE` counts only the body.
    private func countHeader(_ count: Int) -> Int {
        self.headerBytes += count
        guard self.headerBytes > self.maximumHeader else { return count }
        self.isTooLarge = true
        // As in `receive`, a result other than the line's length makes libcurl abort; no line has
        // the length 0.
        return 0
    }

    /// This is the last check before a packet is sent. Here the address is numeric, however the
    /// host was written in the URL.
    private func openSocket(for address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard self.isLocal || Self.name(in: address).map(self.addresses.allows) == true else {
            self.sawRefusedAddress = true
            return -1
        }
        guard self.pool?.allowConnection() ?? true else {
            self.sawSpentPool = true
            return -1
        }
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
        // Calls to a peer that has vanished fail after this time, not after the kernel's quarter
        // of an hour.
        var milliseconds: UInt32 = 20_000
        let size = socklen_t(MemoryLayout<UInt32>.size)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, size)
        return descriptor
    }

    /// The address itself, which may be longer than the `sockaddr` that libcurl declares.
    private static func name(in address: UnsafeMutablePointer<curl_sockaddr>) -> UnsafeRawBufferPointer? {
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        let length = Int(address.pointee.addrlen)
        guard length <= MemoryLayout<sockaddr_storage>.size else { return nil }
        return UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + offset, count: length)
    }

    private func responseHeaders() -> [OutboundRequest.Header] {
        var headers: [OutboundRequest.Header] = []
        var last: UnsafeMutablePointer<curl_header>?
        while let next = curl_easy_nextheader(self.easy, UInt32(CURLH_HEADER), -1, last) {
            let (name, value) = (String(cString: next.pointee.name), String(cString: next.pointee.value))
            headers.append(.init(name.lowercased(), value))
            last = next
        }
        return headers
    }

    /// The system's last error, such as `Connection refused`; `nil` if there was none.
    private var systemReason: String? {
        var number = 0
        guard ccurl_get_long(self.easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK, number > 0 else { return nil }
        return String(cString: strerror(Int32(clamping: number)))
    }

    private func error(for code: CURLcode) -> OutboundError {
        let detail = String(cString: curl_easy_strerror(code))
        // If the response was too large, the transfer was aborted, and libcurl's code for that
        // does not matter.
        if self.isTooLarge { return .responseTooLarge }
        if let status = self.proxyRefusal { return .couldNotConnect("the proxy refuses the tunnel with \(status)") }
        switch code {
        case CURLE_URL_MALFORMAT: return .badRequest(detail)
        // The scheme was checked before, so this code means that the answer is not HTTP.
        case CURLE_UNSUPPORTED_PROTOCOL: return .interrupted("the answer is not HTTP")
        case CURLE_COULDNT_CONNECT where self.sawRefusedAddress: return .refusedAddress
        case CURLE_COULDNT_CONNECT: return .couldNotConnect(self.systemReason ?? detail)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .couldNotConnect(detail)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM:
            return .tls(detail)
        // libcurl enforces only the connect timeout; the dispatcher enforces the deadline of the
        // call.
        case CURLE_OPERATION_TIMEDOUT: return .couldNotConnect(detail)
        case CURLE_FILESIZE_EXCEEDED: return .responseTooLarge
        default: return .interrupted(detail)
        }
    }
}

extension OutboundRequest.Header {
    /// Whether name and value form exactly one header line.
    fileprivate var isWellFormed: Bool {
        !self.name.isEmpty
            && self.name.utf8.allSatisfy { $0.isVisible && $0 != UInt8(ascii: ":") }
            && self.value.utf8.allSatisfy { !$0.isControl }
    }

    /// The line in libcurl's notation: a header without a value ends with a semicolon.
    fileprivate var line: String {
        self.value.isEmpty ? self.name + ";" : self.name + ": " + self.value
    }
}
