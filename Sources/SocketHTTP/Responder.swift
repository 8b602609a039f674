/// The application behind the server: turns requests, and refusals, into responses.
package protocol Responder: Sendable {
    /// Answers a request, or returns the work that must wait; runs on the loop of its connection, so it must not block.
    func respond(to request: Request) -> Reply

    /// Makes the answer to a request that the server refuses, or whose handler is too slow.
    ///
    /// `head` is not `nil` if all the fields were read, valid or not.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response
}

/// A response, or what comes before it.
///
/// An async function costs some 500 instructions each time, whether it waits or not; a request that does not wait calls
/// none.
package enum Reply {
    case now(Response)
    /// Waits once, in no function but the connection's, and goes on with what `next` returns. On the loop of the connection,
    /// within the handler's time.
    case wait(any RequestWait)
    /// Runs on the loop of the connection, within the handler's time.
    case later(() async -> Response)

    /// The response, once it is available. Does not ask for an executor, as a fetch of a herd comes here.
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

/// Something that a request waits for, and how it goes on.
package protocol RequestWait: AnyObject {
    /// Resumes the caller once, from any thread.
    func begin(resume caller: UnsafeContinuation<Void, Never>)

    /// Goes on, once the caller was resumed.
    func next() -> Reply
}
