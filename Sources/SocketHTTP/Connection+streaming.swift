internal import HTTPTypes
internal import Reactor

/// Streaming bodies: the server sends the head, and then a handler writes the body piece by piece.
extension Connection {
    /// Whether a streaming body follows the head.
    func streamsBody(_ response: Response, for head: RequestHead?) -> Bool {
        response.streamingBody != nil && head?.method != .head && response.status.allowsContent
    }

    /// Lets the handler write the body, whose head has been sent. Returns `false` if the body
    /// remains incomplete; the connection is then unusable.
    func writeBody(with streamingBody: Response.StreamingBody, for head: RequestHead) async -> Bool {
        let writer = BodyWriter(self, isChunked: !head.isVersion10)
        self.state = .streaming(writer)
        self.output = []
        defer { writer.detach() }
        do {
            try await streamingBody(writer)
        } catch {
            // The last chunk is left out, so that the client recognises the body as incomplete
            // (RFC 9112 §8).
            return false
        }
        return await writer.end()
    }

    /// Wakes the handler of a streaming body from its wait, because the server stops.
    func endStreamingBody() {
        if case .streaming(let writer) = self.state { writer.ring() }
    }

    /// Reads the bytes that have arrived, and keeps them for later requests. Returns `false` if
    /// the client has ended its side, or has sent more than `limit` bytes.
    func keepUnread(upTo limit: Int) -> Bool {
        while self.input.count <= limit {
            switch self.fill() {
            case .bytes: continue
            case .ended: return false
            case .nothing:
                self.releaseInput()
                return true
            }
        }
        return false
    }
}
