internal import Foundation

/// A body as it comes. It is joined at its end only: one that grew as a whole would be copied
/// again and again, each time with room for twice as much, for which an extension has no memory.
struct BodyPieces: Sendable {
    /// The bytes from which on a piece grows no more. Single bytes make no piece each, since a
    /// piece has a size of its own.
    private static let size = 16_384

    private var pieces: [Data] = []
    private(set) var count = 0

    mutating func append(_ bytes: Data) {
        self.count += bytes.count
        if let count = self.pieces.last?.count, count + bytes.count <= Self.size {
            self.pieces[self.pieces.count - 1].append(bytes)
        } else {
            self.pieces.append(bytes)
        }
    }

    var whole: Data {
        var whole = Data(capacity: self.count)
        for piece in self.pieces { whole.append(piece) }
        return whole
    }
}
