/// What stands behind the server: it turns requests, and refusals, into responses.
package protocol Responder: Sendable {
    /// Answers a request, or returns the work that must wait; runs on the loop of its connection, so it must not block.
    func respond(to request: Request) -> Reply

    /// Makes the answer to a request that the server refuses before routing.
    ///
    /// `head` is there if all the fields were read, valid or not.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response
}

/// A response, or the work that makes one.
///
/// A function that may wait costs some 500 instructions each time, whether it waits or not; a request that needs no wait
/// passes through none.
package enum Reply {
    case now(Response)
    /// Runs on the loop of the connection, and has the handler's time.
    case later(() async -> Response)

    /// The response, whenever it is there.
    package var response: Response {
        get async {
            switch self {
            case .now(let response): response
            case .later(let work): await work()
            }
        }
    }
}
