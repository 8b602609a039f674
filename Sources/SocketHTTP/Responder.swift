/// The application behind the server: turns requests, and refusals, into responses.
package protocol Responder: Sendable {
    /// Answers a request, or returns the work that must wait. It runs on the loop of its
    /// connection, so it must not block.
    func respond(to request: Request) -> Reply

    /// Makes the answer to a request that the server refuses, or whose handler is too slow.
    ///
    /// `head` is `nil` unless all the fields were read, valid or not.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response
}

/// A response, or the steps before it.
///
/// An async function costs some 500 instructions each time, whether it waits or not; a request
/// that does not wait calls none.
package enum Reply {
    case now(Response)
    /// Waits once, in the connection's own function, and continues with the result of `next`. This
    /// happens on the loop of the connection, within the handler's time.
    case wait(any RequestWait)
    /// Runs on the loop of the connection, within the handler's time.
    case later(() async -> Response)

    /// The response, once it is available. Does not switch executors, as this runs for each fetch
    /// of a burst.
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

/// An event that a request waits for, and the request's continuation.
package protocol RequestWait: AnyObject {
    /// Resumes the caller once, from any thread.
    func begin(resume caller: UnsafeContinuation<Void, Never>)

    /// Continues, after the caller was resumed.
    func next() -> Reply
}
