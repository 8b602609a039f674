internal import Foundation

/// The body of a response in pieces, which are joined only when the body is complete. A single
/// growing buffer would be copied repeatedly, each time to twice its capacity; an app's extension
/// lacks the memory for that.
struct BodyPieces: Sendable {
    /// The size at which a piece stops growing. A small chunk is appended to the last piece,
    /// because each piece has an overhead.
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
