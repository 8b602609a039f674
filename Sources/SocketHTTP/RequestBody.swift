/// A request's body, which is read from the connection only when a handler requests it. Use it on
/// the connection's event loop only.
package final class RequestBody {
    /// The value of `Content-Length`: 0 if there is no body, `nil` if the body is chunked.
    package let declaredLength: Int?

    private let limit: Int
    private var connection: Connection?
    private var outcome: Result<[UInt8], BodyError>?

    /// A complete body, for tests of handlers.
    package init(_ bytes: [UInt8]) {
        self.declaredLength = bytes.count
        self.limit = ServerLimits().bodyBytes
        self.outcome = .success(bytes)
    }

    init(framing: BodyFraming, limit: Int, connection: Connection) {
        self.limit = limit
        switch framing {
        case .none:
            self.declaredLength = 0
            self.outcome = .success([])
        case .length(let length):
            self.declaredLength = length
            self.connection = connection
        case .chunked:
            self.declaredLength = nil
            self.connection = connection
        }
    }

    /// Reads the whole body on the first call; later calls return the same result.
    ///
    /// Sends 100 Continue to a client that waits for it. If the declared length is above `limit`,
    /// throws before it reads a byte; by default the limit is the server's. Never keeps more than
    /// `limit` bytes in memory.
    package func collect(upTo limit: Int? = nil) async throws(BodyError) -> [UInt8] {
        let limit = max(0, limit ?? self.limit)
        if let declaredLength, declaredLength > limit { throw .tooLarge }
        if self.outcome == nil { self.outcome = await self.read(upTo: limit) }
        guard let bytes = try self.outcome?.get() else { throw .closed }
        guard bytes.count <= limit else { throw .tooLarge }
        return bytes
    }

    /// Separates the body from its connection: the unread part can no longer be read.
    func detach() {
        self.connection = nil
    }

    private func read(upTo limit: Int) async -> Result<[UInt8], BodyError> {
        guard let connection else { return .failure(.closed) }
        do throws(BodyError) {
            return .success(try await connection.readBody(upTo: limit))
        } catch {
            return .failure(error)
        }
    }
}
