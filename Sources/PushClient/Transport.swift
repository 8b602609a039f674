internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A URL session that gives each request one response, without redirects, caches, cookies or
/// stored credentials.
final class Transport: Sendable {
    private let session: URLSession
    private let delegate: SessionDelegate
    #if canImport(FoundationNetworking)
        /// Sends requests in place of the session; `nil` if the app's configuration has protocols
        /// of its own, as in tests, since only the session can use these.
        private let curl: CurlTransport?
    #endif

    init(_ options: PushClient.Options) {
        precondition(
            options.configuration.identifier == nil,
            "a session in the background answers no call: give another configuration"
        )
        let configuration = options.configuration.copy() as? URLSessionConfiguration ?? .ephemeral
        // A cached body would echo the token of an earlier request.
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        #if canImport(FoundationNetworking)
            // On Linux the session would take credentials from this storage without asking the
            // delegate, which declines to send any. On Apple platforms the session asks the
            // delegate for the server's credentials, and the system needs the storage for a
            // proxy's credentials.
            configuration.urlCredentialStorage = nil
        #endif
        // `exchange` limits the time of each request itself; the session's default of a minute
        // could end a silent stream.
        configuration.timeoutIntervalForRequest = 7 * 86400
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        self.delegate = SessionDelegate(trust: options.serverTrust, certificate: options.clientCertificate)
        #if canImport(FoundationNetworking)
            let protocols = configuration.protocolClasses ?? []
            let hasOwn = protocols.contains { !String(reflecting: $0).hasPrefix("FoundationNetworking.") }
            self.curl = hasOwn ? nil : CurlTransport(fields: configuration.httpAdditionalHeaders)
        #endif
        self.session = URLSession(configuration: configuration, delegate: self.delegate, delegateQueue: nil)
    }

    deinit {
        // A session retains its delegate until it is invalidated.
        self.session.finishTasksAndInvalidate()
    }

    /// Sends a request, and reads a body of at most `maximumBody` bytes. Throws `URLError`, also
    /// when the time `limit` is over, and `CancellationError`. If the response's head is not
    /// wanted, its body is not read.
    ///
    /// With a channel, the function returns only the head of a wanted response with 200; the body
    /// is written to the channel.
    func exchange(
        _ request: URLRequest,
        within limit: Duration,
        upTo maximumBody: Int,
        into channel: EventChannel? = nil,
        if isWanted: @escaping @Sendable (HTTPURLResponse) -> Bool
    ) async throws -> RawResponse {
        do {
            return try await withThrowingTaskGroup(of: RawResponse.self) { group in
                group.addTask { try await self.load(request, maximumBody, channel, if: isWanted) }
                // The session's own timeout has whole seconds on Linux, and restarts with each
                // byte on other platforms.
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw URLError(.timedOut)
                }
                defer { group.cancelAll() }
                guard let first = try await group.next() else { throw CancellationError() }
                return first
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw error
        }
    }

    private func load(
        _ request: URLRequest,
        _ maximumBody: Int,
        _ channel: EventChannel?,
        if isWanted: @escaping @Sendable (HTTPURLResponse) -> Bool
    ) async throws -> RawResponse {
        #if canImport(FoundationNetworking)
            if let curl { return try await curl.load(request, maximumBody, channel, if: isWanted) }
        #endif
        let task = self.session.dataTask(with: request)
        channel?.attach { [delegate] in delegate.cancel(task) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.delegate.await(task, continuation, maximumBody, channel, isWanted)
                // If the Swift task was cancelled before this point, `onCancel` could not end the
                // exchange, which did not exist yet.
                guard !Task.isCancelled else { return self.delegate.cancel(task) }
                task.resume()
            }
        } onCancel: {
            self.delegate.cancel(task)
        }
    }
}
