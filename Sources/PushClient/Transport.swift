internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// One URL session, which gives each request one response: no redirects, caches, cookies or stored
/// credentials.
final class Transport: Sendable {
    private let session: URLSession
    private let delegate: SessionDelegate

    init(
        configuration: URLSessionConfiguration,
        trust: PushClient.ServerTrust,
        certificate: URLCredential?
    ) {
        precondition(
            configuration.identifier == nil,
            "a session in the background answers no call: give another configuration"
        )
        let configuration = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
        // A cached body would echo the token of an earlier request.
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        #if canImport(FoundationNetworking)
            // Here it is asked before the delegate, which declines. Elsewhere the delegate is
            // asked for the server, and the system finds in it what a proxy wants.
            configuration.urlCredentialStorage = nil
        #endif
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        self.delegate = SessionDelegate(trust: trust, certificate: certificate)
        #if canImport(FoundationNetworking)
            let queue: OperationQueue? = BoundedQueue()
        #else
            let queue: OperationQueue? = nil
        #endif
        self.session = URLSession(configuration: configuration, delegate: self.delegate, delegateQueue: queue)
    }

    deinit {
        // A session holds its delegate until it is told to end.
        self.session.finishTasksAndInvalidate()
    }

    /// Takes a body of so many bytes. Throws `URLError`, also after `limit`, and
    /// `CancellationError`. After a head that is not wanted, no body is taken.
    ///
    /// With a channel, the response to a 200 that is wanted is its head, and the body goes into
    /// the channel.
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
                // The session's own limit is in whole seconds on Linux, and begins anew with each
                // byte elsewhere.
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
        let task = self.session.dataTask(with: request)
        channel?.attach { [delegate] in delegate.cancel(task) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.delegate.await(task, continuation, maximumBody, channel, isWanted)
                // A task that was cancelled before this point has not ended the exchange, which
                // did not exist yet.
                guard !Task.isCancelled else { return self.delegate.cancel(task) }
                task.resume()
            }
        } onCancel: {
            self.delegate.cancel(task)
        }
    }
}
