internal import HTTPTypes
internal import Reactor

/// Bodies that come about while they go out.
extension Connection {
    /// Whether a body follows the head that comes about only then.
    func isProduced(_ response: Response, for head: RequestHead?) -> Bool {
        response.production != nil && head?.method != .head && response.status.allowsContent
    }

    /// Runs the production of a body whose head is out. `false` if the body is not complete: the connection is of no
    /// more use.
    func produce(_ production: Response.Production, for head: RequestHead) async -> Bool {
        let writer = BodyWriter(self, isChunked: !head.isVersion10)
        self.state = .producing(writer)
        self.output = []
        defer { writer.detach() }
        do {
            try await production(writer)
        } catch {
            // Cut short without a last chunk, so that nobody takes it for the whole (RFC 9112 §8).
            return false
        }
        return await writer.end()
    }

    /// Has a body that is waiting for something end: the server stops.
    func endProduction() {
        if case .producing(let writer) = self.state { writer.ring() }
    }

    /// Reads what has come, for after the body. `false` if the client has ended its side, or sends more than `limit`.
    func keepUnread(upTo limit: Int) -> Bool {
        while self.input.count <= limit {
            switch self.fill() {
            case .bytes: continue
            case .ended: return false
            case .nothing:
                self.input.release()
                return true
            }
        }
        return false
    }
}
