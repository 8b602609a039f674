internal import HTTPTypes
internal import Reactor

/// Streaming bodies: those that a handler writes piece by piece, behind a head that is out already.
extension Connection {
    /// Whether a streaming body follows the head.
    func streamsBody(_ response: Response, for head: RequestHead?) -> Bool {
        response.streamingBody != nil && head?.method != .head && response.status.allowsContent
    }

    /// Has the handler write a body whose head is out. `false` if the body is not complete: the connection is of no
    /// more use.
    func writeBody(with streamingBody: Response.StreamingBody, for head: RequestHead) async -> Bool {
        let writer = BodyWriter(self, isChunked: !head.isVersion10)
        self.state = .streaming(writer)
        self.output = []
        defer { writer.detach() }
        do {
            try await streamingBody(writer)
        } catch {
            // Cut short without a last chunk, so that the client does not take it for the whole (RFC 9112 §8).
            return false
        }
        return await writer.end()
    }

    /// Ends a streaming body that waits: the server stops.
    func endStreamingBody() {
        if case .streaming(let writer) = self.state { writer.ring() }
    }

    /// Reads the bytes that have arrived, and keeps them for the next request. `false` if the client has ended its side,
    /// or has sent more than `limit`.
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
