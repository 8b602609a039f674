internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A response whose body still arrives, of at most `maximumBody` bytes.
struct ArrivingResponse {
    let maximumBody: Int
    private(set) var head: HTTPURLResponse?
    private var body = BodyPieces()
    private var isOversized = false

    init(upTo maximumBody: Int) {
        self.maximumBody = maximumBody
    }

    /// Stores the head. Returns `false` if the announced body is too long.
    mutating func begin(_ head: HTTPURLResponse) -> Bool {
        self.head = head
        // A 304 may announce the length of a body that it does not have.
        self.isOversized = head.statusCode != 304 && head.expectedContentLength > Int64(self.maximumBody)
        return !self.isOversized
    }

    /// Stores a piece of the body. Returns `false` if the body is too long.
    mutating func append(_ data: Data) -> Bool {
        guard data.count <= self.maximumBody - self.body.count else {
            self.isOversized = true
            return false
        }
        self.body.append(data)
        return true
    }

    /// The response after the transfer has ended, with an error or without.
    func result(_ head: HTTPURLResponse, isChallenge: Bool, error: (any Error)?) -> Result<RawResponse, any Error> {
        let body = self.isOversized ? Data() : self.body.whole
        var raw = RawResponse(response: head, body: body, isChallenge: isChallenge)
        if self.isOversized {
            raw.end = .oversized(limit: self.maximumBody)
        } else if let error {
            // The device gave up, or lost its network: this is not an interference.
            if let error = error as? URLError, NetworkFailure.isOwn(error) { return .failure(error) }
            raw.end = .cut
        }
        return .success(raw)
    }
}
