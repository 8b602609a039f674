/// A request's body, read from the connection when a handler asks for it. On the connection's loop
/// only.
package final class RequestBody {
    /// The value of `Content-Length`; 0 without a body, `nil` for a chunked one.
    package let declaredLength: Int?

    private let limit: Int
    private var connection: Connection?
    private var outcome: Result<[UInt8], BodyError>?

    /// A complete body, for handlers' tests.
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

    /// Reads the body to its end on the first call; later calls return the same result.
    ///
    /// Sends 100 Continue to a client that waits for it. Refuses a declared length above `limit`,
    /// by default the server's, before it reads a byte. Never keeps more than `limit` bytes.
    package func collect(upTo limit: Int? = nil) async throws(BodyError) -> [UInt8] {
        let limit = max(0, limit ?? self.limit)
        if let declaredLength, declaredLength > limit { throw .tooLarge }
        if self.outcome == nil { self.outcome = await self.read(upTo: limit) }
        guard let bytes = try self.outcome?.get() else { throw .closed }
        guard bytes.count <= limit else { throw .tooLarge }
        return bytes
    }

    /// Cuts the body off from its connection: the unread part can no longer be read.
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
