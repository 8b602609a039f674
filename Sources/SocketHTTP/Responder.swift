/// What stands behind the server: it turns requests, and refusals, into responses.
package protocol Responder: Sendable {
    /// Answers a request, or tells what has to be waited for; runs on the loop of its connection, so it must not block.
    func respond(to request: Request) -> Reply

    /// Words the answer to what the server refuses before routing.
    ///
    /// `head` is there if all the fields were read, whatever is wrong with them.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response
}

/// What a responder makes of a request.
///
/// A function that may wait costs some 500 instructions each time, whether it waits or not: what needs no waiting passes
/// through none.
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
