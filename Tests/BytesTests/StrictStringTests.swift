import Bytes
import Testing

/// Tests the strict decoding of UTF-8, on newer and on older systems.
@Suite(.timeLimit(.minutes(5))) struct StrictStringTests {
    @Test(arguments: [
        "", "a", "ä€😀", "\u{FEFF}a", "\u{FFFD}", "a\u{0}b",
    ])
    func aTextIsDecodedWithoutLoss(text: String) {
        let bytes = Array(text.utf8)
        #expect(String(strict: bytes).map { Array($0.utf8) } == bytes)
        #expect(String(compared: bytes).map { Array($0.utf8) } == bytes)
    }

    /// Invalid UTF-8, also with as many bytes as the replacement character, which has three.
    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xED, 0xA0, 0x80], [0x61, 0x80],
            [0xF4, 0x90, 0x80, 0x80],
        ] as [[UInt8]]
    )
    func invalidBytesAreRefused(bytes: [UInt8]) {
        #expect(String(strict: bytes) == nil)
        #expect(String(compared: bytes) == nil)
    }
}
