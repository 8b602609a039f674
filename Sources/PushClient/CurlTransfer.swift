#if canImport(FoundationNetworking)
    internal import CCurl
    internal import Foundation
    internal import FoundationNetworking

    /// Sends requests through libcurl, each on a thread of its own.
    ///
    /// URLSession on Linux ends the process if a peer closes the connection inside an answer's
    /// head. It uses libcurl, too, so an app loads no further library.
    final class CurlTransport: Sendable {
        private let handles = CurlHandles()
        /// The fields that the app adds to each request.
        private let fields: [String: String]

        init(fields: [AnyHashable: Any]?) {
            self.fields = (fields ?? [:]).reduce(into: [:]) { $0["\($1.key)"] = "\($1.value)" }
        }

        /// Sends a request, like `Transport.exchange`, without a limit of time.
        func load(
            _ request: URLRequest,
            _ maximumBody: Int,
            _ channel: EventChannel?,
            if isWanted: @escaping @Sendable (HTTPURLResponse) -> Bool
        ) async throws -> RawResponse {
            var request = request
            for (name, value) in self.fields where request.value(forHTTPHeaderField: name) == nil {
                request.setValue(value, forHTTPHeaderField: name)
            }
            let transfer = CurlTransfer(request, maximumBody, channel, isWanted)
            channel?.attach { transfer.cancel() }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    guard transfer.begin(continuation) else { return }
                    DispatchQueue.global().async { [handles] in
                        let handle = handles.take()
                        let end = transfer.perform(handle.easy)
                        // The caller's next request uses the same connection.
                        handles.put(handle)
                        end()
                    }
                }
            } onCancel: {
                transfer.cancel()
            }
        }
    }

    /// The idle handles of libcurl, which keep their connections open for the next request.
    private final class CurlHandles: Sendable {
        /// `@unchecked Sendable` is safe: one thread at a time uses a handle.
        struct Handle: @unchecked Sendable {
            let easy: UnsafeMutableRawPointer
        }

        private static let maximum = 4
        private let idle = Locked<[Handle]>([])

        deinit {
            for handle in self.idle.withLock({ $0 }) { curl_easy_cleanup(handle.easy) }
        }

        func take() -> Handle {
            if let handle = self.idle.withLock({ $0.popLast() }) { return handle }
            guard let easy = curl_easy_init() else { preconditionFailure("out of memory") }
            return Handle(easy: easy)
        }

        func put(_ handle: Handle) {
            // The connections stay open.
            curl_easy_reset(handle.easy)
            let isStored = self.idle.withLock { idle in
                guard idle.count < Self.maximum else { return false }
                idle.append(handle)
                return true
            }
            if !isStored { curl_easy_cleanup(handle.easy) }
        }
    }

    /// One request and its response.
    ///
    /// `@unchecked Sendable` is safe: a lock protects `state`, and only the thread of `perform`
    /// uses the other variables.
    private final class CurlTransfer: @unchecked Sendable {
        private struct State {
            var continuation: CheckedContinuation<RawResponse, any Error>?
            var isCancelled = false
        }

        /// The maximum number of bytes of all field lines of a response.
        private static let maximumHead = 262_144

        private let request: URLRequest
        private let channel: EventChannel?
        private let isWanted: @Sendable (HTTPURLResponse) -> Bool
        private let state = Locked(State())

        private var easy: UnsafeMutableRawPointer?
        private var headBytes = 0
        private var fields: [(name: String, value: String)] = []
        private var response: ArrivingResponse
        /// Whether the head was enough: the response is not wanted, or its body is too long.
        private var isEnded = false
        private var isStreaming = false

        init(
            _ request: URLRequest,
            _ maximumBody: Int,
            _ channel: EventChannel?,
            _ isWanted: @escaping @Sendable (HTTPURLResponse) -> Bool
        ) {
            (self.request, self.channel, self.isWanted) = (request, channel, isWanted)
            self.response = ArrivingResponse(upTo: maximumBody)
        }

        /// Returns `false`, and resumes the continuation, if the transfer was cancelled before.
        func begin(_ continuation: CheckedContinuation<RawResponse, any Error>) -> Bool {
            let isCancelled = self.state.withLock { state in
                if !state.isCancelled { state.continuation = continuation }
                return state.isCancelled
            }
            if isCancelled { continuation.resume(throwing: URLError(.cancelled)) }
            return !isCancelled
        }

        /// Ends the wait for the response at once; libcurl ends the transfer within a second.
        func cancel() {
            self.state.withLock { $0.isCancelled = true }
            self.resume(.failure(URLError(.cancelled)))
        }

        private func resume(_ result: Result<RawResponse, any Error>) {
            let continuation = self.state.withLock { state in
                defer { state.continuation = nil }
                return state.continuation
            }
            continuation?.resume(with: result)
        }

        /// Sends the request, and waits for the end of the response. The result passes the outcome
        /// on to the caller.
        func perform(_ easy: UnsafeMutableRawPointer) -> () -> Void {
            Self.blockBrokenPipes()
            self.easy = easy
            let headers = self.configure(easy)
            let code = curl_easy_perform(easy)
            curl_slist_free_all(headers)
            let isCancelled = self.state.withLock { $0.isCancelled }
            let error = code == CURLE_OK ? nil : isCancelled ? URLError(.cancelled) : URLError(self.urlCode(of: code))
            if self.isStreaming { return { self.channel?.finish(error) } }
            let result = self.result(error)
            return { self.resume(result) }
        }

        private func result(_ error: URLError?) -> Result<RawResponse, any Error> {
            guard let head = self.response.head ?? self.proxyRefusal else {
                // Without an error, the peer has closed the connection inside the head.
                return .failure(error ?? URLError(.networkConnectionLost))
            }
            let isExpected = self.response.head == nil || self.isEnded
            return self.response.result(
                head,
                isChallenge: RawResponse.isChallenge(head),
                error: isExpected ? nil : error
            )
        }

        /// The answer of a proxy that has refused to connect to the server.
        private var proxyRefusal: HTTPURLResponse? {
            let status = self.number(CURLINFO_HTTP_CONNECTCODE)
            guard status >= 300, let url = self.request.url else { return nil }
            return HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)
        }

        private func number(_ info: CURLINFO) -> Int {
            var value = 0
            ccurl_get_long(self.easy, info, &value)
            return value
        }

        // MARK: - The request

        private func configure(_ easy: UnsafeMutableRawPointer) -> UnsafeMutablePointer<curl_slist>? {
            ccurl_set_text(easy, CURLOPT_URL, self.request.url?.absoluteString ?? "")
            ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
            ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
            ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
            ccurl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
            ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
            ccurl_set_text(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate")
            // Foundation's session reads the same variable.
            let environment = ProcessInfo.processInfo.environment
            if let file = environment["URLSessionCertificateAuthorityInfoFile"] {
                ccurl_set_text(easy, CURLOPT_CAINFO, file)
            }
            let method = self.request.httpMethod ?? "GET"
            // libcurl sends a request again if it was lost on an old connection.
            if method == "POST" { ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
            if let body = self.request.httpBody ?? (["POST", "PUT"].contains(method) ? Data() : nil) {
                ccurl_set_length(easy, curl_off_t(body.count))
                body.withUnsafeBytes { bytes in
                    // libcurl copies the bytes; without any, it needs a pointer all the same.
                    var none: UInt8 = 0
                    withUnsafeMutablePointer(to: &none) { none in
                        let start = bytes.baseAddress.map { UnsafeMutableRawPointer(mutating: $0) }
                        ccurl_set_context(easy, CURLOPT_COPYPOSTFIELDS, start ?? UnsafeMutableRawPointer(none))
                    }
                }
            }
            ccurl_set_text(easy, CURLOPT_CUSTOMREQUEST, method)
            self.listen(easy)
            return self.setHeaders(easy)
        }

        private func setHeaders(_ easy: UnsafeMutableRawPointer) -> UnsafeMutablePointer<curl_slist>? {
            // A name without a value keeps libcurl from adding the field.
            var lines = ["Expect:"]
            let fields = self.request.allHTTPHeaderFields ?? [:]
            if fields["Content-Type"] == nil { lines.append("Content-Type:") }
            lines += fields.map { name, value in value.isEmpty ? "\(name);" : "\(name): \(value)" }
            var headers: UnsafeMutablePointer<curl_slist>?
            // A token of the app could contain a line break.
            for line in lines where !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 }) {
                headers = curl_slist_append(headers, line)
            }
            ccurl_set_headers(easy, headers)
            return headers
        }

        private func listen(_ easy: UnsafeMutableRawPointer) {
            let context = Unmanaged.passUnretained(self).toOpaque()
            for option in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_XFERINFODATA] {
                ccurl_set_context(easy, option, context)
            }
            ccurl_set_header_function(easy) { bytes, size, count, context in
                guard let context else { return 0 }
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().read(line: line)
            }
            ccurl_set_write_function(easy) { bytes, size, count, context in
                guard let context else { return 0 }
                let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().read(piece: piece)
            }
            ccurl_set_long(easy, CURLOPT_NOPROGRESS, 0)
            // libcurl calls this function at least once a second.
            ccurl_set_progress_function(easy) { context, _, _, _, _ in
                guard let context else { return 1 }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.state.withLock { $0.isCancelled } ? 1 : 0
            }
        }

        /// Without this, a connection that a peer has closed would end the process. The thread
        /// belongs to Dispatch, whose work does not depend on the signal.
        private static func blockBrokenPipes() {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
        }

        // MARK: - The response

        /// Reads a line of the head. A result other than the line's length ends the transfer.
        private func read(line bytes: UnsafeRawBufferPointer) -> Int {
            self.headBytes += bytes.count
            guard self.headBytes <= Self.maximumHead else { return 0 }
            // The lines after the body are not needed.
            if self.response.head != nil { return bytes.count }
            let line = String(decoding: bytes, as: UTF8.self)
            if line.hasPrefix("HTTP/") {
                self.fields = []
            } else if line.first == " " || line.first == "\t" {
                guard !self.fields.isEmpty else { return 0 }
                self.fields[self.fields.count - 1].value += " " + line.trimmingCharacters(in: .whitespacesAndNewlines)
            } else if let colon = line.firstIndex(of: ":") {
                let name = line[..<colon].lowercased()
                let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
                // Of two lengths, none is certain (RFC 9112 section 6.3).
                if name == "content-length", self.fields.contains(where: { $0.name == name && $0.value != value }) {
                    return 0
                }
                self.fields.append((name, value))
            } else if line.allSatisfy(\.isNewline) {
                return self.endHead() ? bytes.count : 0
            }
            return bytes.count
        }

        /// Returns whether the transfer should continue.
        private func endHead() -> Bool {
            let status = self.number(CURLINFO_RESPONSE_CODE)
            // The response follows an interim response, except for the change of protocols, which
            // no request allows.
            if status < 200 { return status != 101 }
            // Repeated fields count as one list (RFC 9110 section 5.3).
            let fields = Dictionary(self.fields.map { ($0.name, $0.value) }) { "\($0), \($1)" }
            guard let url = self.request.url,
                let head = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields)
            else { return false }
            guard self.response.begin(head), self.isWanted(head) else {
                self.isEnded = true
                return false
            }
            if self.channel != nil, status == 200 {
                self.isStreaming = true
                self.resume(.success(RawResponse(response: head, body: Data())))
            }
            return true
        }

        /// Reads a piece of the body, which has at least one byte. A result other than its length
        /// ends the transfer.
        private func read(piece: UnsafeRawBufferPointer) -> Int {
            if self.isStreaming { return self.channel?.receive(Data(piece)) == true ? piece.count : 0 }
            return self.response.append(Data(piece)) ? piece.count : 0
        }

        private func urlCode(of code: CURLcode) -> URLError.Code {
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .cannotFindHost
            case CURLE_COULDNT_CONNECT: .cannotConnectToHost
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_PEER_FAILED_VERIFICATION:
                // The numbers of OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID and …_HAS_EXPIRED.
                switch self.number(CURLINFO_SSL_VERIFYRESULT) {
                case 9: .serverCertificateNotYetValid
                case 10: .serverCertificateHasBadDate
                default: .serverCertificateUntrusted
                }
            case CURLE_SSL_CONNECT_ERROR: .secureConnectionFailed
            case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2,
                CURLE_HTTP2_STREAM:
                .networkConnectionLost
            default: .cannotParseResponse
            }
        }
    }
#endif
