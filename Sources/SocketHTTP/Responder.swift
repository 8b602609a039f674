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

/// A response, or the work that leads to it.
///
/// A call of an async function costs some 500 instructions, even if the function does not wait. So
/// a request that does not wait calls no async function.
package enum Reply {
    case now(Response)
    /// The connection waits for an event, without a further async function, and then continues
    /// with the reply that `RequestWait.next()` returns. Both happen on the connection's event
    /// loop, within the handler's time limit.
    case wait(any RequestWait)
    /// An async function, which runs on the connection's event loop, within the handler's time
    /// limit.
    case later(() async -> Response)

    /// Waits for the response. The function stays on its caller's executor: a change of the
    /// executor would cost time for each of many requests that arrive together.
    nonisolated(nonsending) package var response: Response {
        get async {
            var reply = self
            while true {
                switch reply {
                case .now(let response): return response
                case .later(let work): return await work()
                case .wait(let wait):
                    await withUnsafeContinuation { wait.begin(resume: $0) }
                    reply = wait.next()
                }
            }
        }
    }
}

/// An event that a request waits for, and the function that then continues the request.
package protocol RequestWait: AnyObject {
    /// Resumes the caller once, from any thread.
    func begin(resume caller: UnsafeContinuation<Void, Never>)

    /// Continues the request after the event.
    func next() -> Reply
}
