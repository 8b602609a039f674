/// The application behind the server. It turns requests, and the server's refusals, into
/// responses.
package protocol Responder: Sendable {
    /// Answers a request at once, or returns the work that must wait. It runs on the connection's
    /// event loop, so it must not block.
    func respond(to request: Request) -> Reply

    /// Makes the response to a request that the server refuses, or whose handler is too slow.
    ///
    /// `head` is `nil` unless the server has read all fields, valid or not.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response
}

/// A response, or the work that leads to it. If a function of the reply throws, the connection
/// closes without an answer; a responder therefore replaces the errors of its handlers.
///
/// A call of an async function costs some 500 instructions, even if the function does not wait. So
/// a request that does not wait calls no async function.
package enum Reply {
    case now(Response)
    /// The connection calls `begin`, which resumes the caller once, from any thread. The
    /// connection waits for this without a further async function, and then continues with the
    /// reply of `next`. It calls both functions on its event loop, within the handler's time
    /// limit.
    case wait(_ begin: (_ caller: UnsafeContinuation<Void, Never>) -> Void, next: () throws -> Reply)
    /// An async function, which runs on the connection's event loop, within the handler's time
    /// limit.
    case later(() async throws -> Response)

    /// Waits for the response. The function stays on its caller's executor: a change of the
    /// executor would cost time for each of many requests that arrive together.
    nonisolated(nonsending) package var response: Response {
        get async throws {
            var reply = self
            while true {
                switch reply {
                case .now(let response): return response
                case .later(let work): return try await work()
                case .wait(let begin, let next):
                    await withUnsafeContinuation { begin($0) }
                    reply = try next()
                }
            }
        }
    }
}
