/// The application behind the server: turns requests, and refusals, into responses.
package protocol Responder: Sendable {
    /// Answers a request, or returns the work that must wait; runs on the loop of its connection, so it must not block.
    func respond(to request: Request) -> Reply

    /// Makes the answer to a request that the server refuses, or whose handler is too slow.
    ///
    /// `head` is not `nil` if all the fields were read, valid or not.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response
}

/// A response, or the work that makes one.
///
/// An async function costs some 500 instructions each time, whether it waits or not; a request that does not wait calls
/// none.
package enum Reply {
    case now(Response)
    /// Runs on the loop of the connection, within the handler's time.
    case later(() async -> Response)

    /// The response, once it is available.
    package var response: Response {
        get async {
            switch self {
            case .now(let response): response
            case .later(let work): await work()
            }
        }
    }
}
