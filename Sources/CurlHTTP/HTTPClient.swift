internal import Glibc
package import Reactor

/// An HTTP client over libcurl's multi-socket interface, with all calls on one loop.
///
/// ```swift
/// let client = try HTTPClient(HTTPClientSettings { $0.addresses = .any }, on: loop)
/// let response = try await client.send(OutboundRequest(.post, url, body: body))
/// await client.close()
/// ```
/// Calls are cheapest from tasks of that loop; a call from another task switches to the loop and
/// back. The client never follows a redirect. It uses the proxy of its settings and never one from
/// the environment. Call `close()` before the loop is stopped.
package final class HTTPClient: Sendable {
    private let loop: EventLoop
    private let dispatcher: Dispatcher

    /// Creates a client. Throws `OutboundError.tls` if the CA file cannot be read.
    package init(_ settings: HTTPClientSettings, on loop: EventLoop) throws(OutboundError) {
        if let caFile = settings.caFile {
            // If the file were a pipe, libcurl would wait for a writer, and would block the loop.
            var status = stat()
            guard access(caFile, R_OK) == 0, stat(caFile, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw .tls("the CA file cannot be read")
            }
        }
        self.loop = loop
        self.dispatcher = Dispatcher(settings, on: loop)
    }

    deinit {
        let dispatcher = self.dispatcher
        self.loop.execute { dispatcher.close() }
    }

    /// Sends a request and collects the response, of any status.
    ///
    /// Returns at the request's deadline at the latest, and at once when the task is cancelled. A
    /// request that loses its connection before a 2xx status has arrived is repeated after 10 ms,
    /// up to twice. libcurl itself repeats a request up to five times if the peer refused to
    /// process the request, or if the connection had been used before. The peer may already have
    /// handled a request that is repeated, so handling a request twice must be harmless.
    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let call = Call(request)
        let dispatcher = self.dispatcher
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                call.continuation = continuation
                if self.loop.isCurrent {
                    dispatcher.start(call)
                } else if !self.loop.execute({ dispatcher.start(call) }) {
                    call.finish(.failure(.closed))
                }
            }
        } onCancel: {
            self.loop.execute { dispatcher.cancel(call) }
        }
        return try result.get()
    }

    /// Makes all further calls use new connections; calls in progress end on the old connections.
    package func renewConnections() {
        let dispatcher = self.dispatcher
        self.loop.execute { dispatcher.renewConnections() }
    }

    /// Fails the calls in progress and all later ones with `closed`, and closes the connections.
    package func close() async {
        let dispatcher = self.dispatcher
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isAccepted = self.loop.execute {
                dispatcher.close()
                continuation.resume()
            }
            if !isAccepted { continuation.resume() }
        }
    }
}
