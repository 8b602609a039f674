@testable import SocketHTTP

extension FuzzTarget {
    /// A chunked body: content and end are the same however it is split into portions, and the
    /// limit holds.
    static func chunk(_ bytes: [UInt8]) throws {
        let expected = ChunkOutcome(of: bytes, in: .whole)
        for portions in [Portions.single, .mixed] {
            let outcome = ChunkOutcome(of: bytes, in: portions)
            try require(outcome == expected, "\(outcome), read in portions, is \(expected)")
        }
        try require(expected.content.count <= ChunkOutcome.limit, "\(expected.content.count) bytes are in the limit")
        try require(expected.error != nil || expected.isFinished || expected.used == bytes.count, "all is used")
    }
}

/// The result of a decoder.
private struct ChunkOutcome: Equatable {
    /// A low limit, so that short inputs reach it.
    static let limit = 160
    private static let trailerBytes = 80

    var content: [UInt8] = []
    var used = 0
    var isFinished = false
    var error: BodyError?

    init(of bytes: [UInt8], in portions: Portions) {
        var decoder = ChunkDecoder(trailerBytes: Self.trailerBytes)
        do throws(BodyError) {
            for end in portions.ends(of: bytes) where !decoder.isFinished {
                let portion = bytes.span.extracting(self.used..<end)
                self.used += try decoder.decode(portion, into: &self.content, limit: Self.limit)
            }
        } catch {
            // No caller uses the position of a decoder that threw.
            self.used = 0
            self.error = error
        }
        self.isFinished = decoder.isFinished
    }
}
