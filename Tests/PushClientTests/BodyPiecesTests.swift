import Foundation
import Testing

@testable import PushClient

@Suite struct BodyPiecesTests {
    @Test(arguments: [[], [0], [5], [1, 1, 1], [16_384, 1], [1, 16_384], [16_383, 1, 1], [40_000, 3, 40_000]])
    func piecesFormTheWholeBody(sizes: [Int]) {
        var body = BodyPieces()
        var expected = Data()
        for (number, size) in sizes.enumerated() {
            // A slice has indices that do not begin at 0.
            let piece = Data(repeating: UInt8(number), count: size + 3).dropFirst(3)
            body.append(piece)
            expected.append(piece)
        }
        #expect(body.whole == expected)
        #expect(body.count == expected.count)
    }
}
