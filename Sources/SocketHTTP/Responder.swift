/// What stands behind the server: it turns requests, and refusals, into responses.
package protocol Responder: Sendable {
    /// Answers a request; runs on the loop of its connection, so it must not block.
    func respond(to request: Request) async -> Response

    /// Words the answer to what the server refuses before routing.
    ///
    /// `head` is there if all the fields were read, whatever is wrong with them.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response
}
