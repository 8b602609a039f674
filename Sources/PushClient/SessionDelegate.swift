internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Thrown when the server's certificate chain has none of the pinned keys.
struct UntrustedKey: Error {}

/// Collects the response to each task, and refuses redirects, caching and credentials, which the
/// session would otherwise handle itself.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let continuation: CheckedContinuation<RawResponse, any Error>
        let channel: EventChannel?
        let isWanted: @Sendable (HTTPURLResponse) -> Bool
        var response: ArrivingResponse
        var isChallenge = false
        /// The reason why the certificate was refused.
        var refusal: (any Error)?
    }

    private let trust: PushClient.ServerTrust
    private let certificate: URLCredential?
    /// A lock protects this dictionary, because the session calls the delegate from a queue of its
    /// own.
    private let exchanges = Locked<[Int: Exchange]>([:])
    /// The channels for the bodies of event streams whose head was delivered.
    private let channels = Locked<[Int: EventChannel]>([:])

    init(trust: PushClient.ServerTrust, certificate: URLCredential?) {
        self.trust = trust
        self.certificate = certificate
    }

    /// Resumes the continuation when the task is complete, or after a head whose body is not
    /// wanted. Call this function before the task is resumed.
    func await(
        _ task: URLSessionTask,
        _ continuation: CheckedContinuation<RawResponse, any Error>,
        _ maximumBody: Int,
        _ channel: EventChannel?,
        _ isWanted: @escaping @Sendable (HTTPURLResponse) -> Bool
    ) {
        self.exchanges.withLock {
            $0[task.taskIdentifier] = Exchange(
                continuation: continuation,
                channel: channel,
                isWanted: isWanted,
                response: ArrivingResponse(upTo: maximumBody)
            )
        }
    }

    /// Ends the exchange at once, without waiting for the session, which may take long to report
    /// the end.
    func cancel(_ task: URLSessionTask) {
        self.finish(task, error: URLError(.cancelled))
        Self.end(task)
    }

    private static func end(_ task: URLSessionTask) {
        #if canImport(FoundationNetworking)
            // Cancels on another queue, because `cancel()` waits for the session's queue.
            DispatchQueue.global().async { task.cancel() }
        #else
            task.cancel()
        #endif
    }

    // MARK: - Answers

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let isWanted = self.exchanges.withLock { exchanges in
            guard let response = response as? HTTPURLResponse, var exchange = exchanges[dataTask.taskIdentifier] else {
                return true
            }
            let hasRoom = exchange.response.begin(response)
            exchanges[dataTask.taskIdentifier] = exchange
            return hasRoom && exchange.isWanted(response)
        }
        if isWanted {
            self.open(dataTask, response)
            return completionHandler(.allow)
        }
        // A captive portal may send far more than an extension has memory for. On Linux the
        // disposition alone does not end the transfer.
        Self.end(dataTask)
        self.finish(dataTask, error: nil)
        completionHandler(.cancel)
    }

    /// Delivers the head of an event stream; does nothing for other exchanges.
    private func open(_ task: URLSessionTask, _ response: URLResponse) {
        let number = task.taskIdentifier
        guard (response as? HTTPURLResponse)?.statusCode == 200,
            let channel = self.exchanges.withLock({ $0[number]?.channel })
        else { return }
        self.channels.withLock { $0[number] = channel }
        self.endExchange(task, error: nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if let channel = self.channels.withLock({ $0[dataTask.taskIdentifier] }) {
            if !channel.receive(data) { self.cancel(dataTask) }
            return
        }
        let hasRoom = self.exchanges.withLock { $0[dataTask.taskIdentifier]?.response.append(data) ?? true }
        if !hasRoom { self.cancel(dataTask) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.finish(task, error: error.map(NetworkFailure.urlError))
    }

    /// Ends the exchange of a task. Only the first call for a task has an effect.
    private func finish(_ task: URLSessionTask, error: (any Error)?) {
        self.channels.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.finish(error)
        self.endExchange(task, error: error)
    }

    private func endExchange(_ task: URLSessionTask, error: (any Error)?) {
        guard let exchange = self.exchanges.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.continuation.resume(with: self.result(of: exchange, response: task.response, error: error))
    }

    private func result(
        of exchange: Exchange,
        response: URLResponse?,
        error: (any Error)?
    ) -> Result<RawResponse, any Error> {
        if let refusal = exchange.refusal { return .failure(refusal) }
        // The session reports a refused redirect only when the task ends.
        guard let head = exchange.response.head ?? response as? HTTPURLResponse else {
            return .failure(error ?? URLError(.badServerResponse))
        }
        return exchange.response.result(head, isChallenge: exchange.isChallenge, error: error)
    }

    private func change(_ task: URLSessionTask, _ change: (inout Exchange) -> Void) {
        self.exchanges.withLock { exchanges in
            guard var exchange = exchanges.removeValue(forKey: task.taskIdentifier) else { return }
            change(&exchange)
            exchanges[task.taskIdentifier] = exchange
        }
    }

    // MARK: - Refusals

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        let answer = ChallengeAnswer(
            method: space.authenticationMethod,
            isProxy: space.isProxy(),
            trust: self.trust,
            hasCertificate: self.certificate != nil
        )
        switch answer {
        case .system: completionHandler(.performDefaultHandling, nil)
        case .showCertificate: completionHandler(.useCredential, self.certificate)
        case .comparePins: self.comparePins(task, challenge, completionHandler)
        case .decline:
            if space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic {
                self.change(task) { $0.isChallenge = true }
            }
            #if canImport(FoundationNetworking)
                // The answer has arrived, so the exchange ends here. On Linux no disposition would
                // end the task with this answer: one disposition never ends the task, and the
                // others end it with an error.
                self.finish(task, error: nil)
                completionHandler(.cancelAuthenticationChallenge, nil)
            #else
                completionHandler(.rejectProtectionSpace, nil)
            #endif
        }
    }

    private func comparePins(
        _ task: URLSessionTask,
        _ challenge: URLAuthenticationChallenge,
        _ completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(Security)
            if let trust = challenge.protectionSpace.serverTrust {
                // The system may fetch missing certificates of a chain from the network, and the
                // session's queue must not wait for that. Nothing else uses the trust object until
                // the challenge is answered, so `nonisolated(unsafe)` is safe.
                nonisolated(unsafe) let trust = trust
                DispatchQueue.global().async {
                    guard let refusal = self.trust.refusal(of: trust) else {
                        return completionHandler(.useCredential, URLCredential(trust: trust))
                    }
                    self.refuse(task, refusal, completionHandler)
                }
                return
            }
        #endif
        self.refuse(task, UntrustedKey(), completionHandler)
    }

    private func refuse(
        _ task: URLSessionTask,
        _ refusal: any Error,
        _ completionHandler: (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        self.change(task) { $0.refusal = refusal }
        completionHandler(.cancelAuthenticationChallenge, nil)
    }
}
