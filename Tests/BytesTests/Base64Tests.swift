import Bytes
import Testing

@Suite(.timeLimit(.minutes(5))) struct Base64Tests {
    /// The examples of RFC 4648 section 10, and two values whose text has digits that only one of
    /// the alphabets has.
    private static let vectors: [(bytes: [UInt8], standard: String, url: String)] = [
        ([], "", ""),
        (Array("f".utf8), "Zg==", "Zg"),
        (Array("fo".utf8), "Zm8=", "Zm8"),
        (Array("foo".utf8), "Zm9v", "Zm9v"),
        (Array("foob".utf8), "Zm9vYg==", "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE=", "Zm9vYmE"),
        (Array("foobar".utf8), "Zm9vYmFy", "Zm9vYmFy"),
        ([0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF], "++++////", "----____"),
        ([0xFF], "/w==", "_w"),
    ]

    @Test(arguments: Self.vectors)
    func bytesAreWrittenAndReadInEachSpelling(bytes: [UInt8], standard: String, url: String) {
        let unpadded = standard.filter { $0 != "=" }
        for (spelling, text) in [(Base64.standard, standard), (.unpadded, unpadded), (.url, url)] {
            #expect(spelling.text(of: bytes) == text)
            #expect(spelling.bytes(in: text.utf8) == bytes)
            #expect(Base64.bytes(inAnySpelling: text.utf8) == bytes)
        }
    }

    @Test(arguments: Base64.allCases)
    func eachLengthIsReadAsItIsWritten(spelling: Base64) {
        for length in 0..<100 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: 37 &* $0 &+ length) }
            let text = spelling.text(of: bytes)
            #expect(spelling.bytes(in: text.utf8) == bytes)
            #expect(spelling == .standard ? text.utf8.count == (length + 2) / 3 * 4 : !text.contains("="))
        }
    }

    /// A pair of characters must be read only if both are digits of the spelling and the last four
    /// bits are zero.
    @Test func everyPairOfCharactersIsReadOnlyIfCanonical() {
        for spelling in [Base64.unpadded, .url] {
            var texts = Set((UInt8.min...UInt8.max).map { Array(spelling.text(of: [$0]).utf8) })
            for first in UInt8.min...UInt8.max {
                for second in UInt8.min...UInt8.max where spelling.bytes(in: [first, second]) != nil {
                    #expect(texts.remove([first, second]) != nil, "\(spelling) reads \(first), \(second)")
                }
            }
            #expect(texts.isEmpty, "\(spelling) does not read \(texts)")
        }
    }

    @Test(
        arguments: [
            // Padding that is missing, too long, or not at the end.
            (Base64.standard, "Zg"), (.standard, "Zg="), (.standard, "Zg==="), (.standard, "Zm9v===="),
            (.standard, "="), (.standard, "===="), (.standard, "Z==="), (.standard, "Zg==Zg=="), (.standard, "Z=g="),
            (.standard, "Zm9v="), (.unpadded, "Zg=="), (.url, "Zg=="), (.url, "Zm8="), (.url, "="),
            // A digit alone at the end, which encodes no byte.
            (.standard, "Z"), (.unpadded, "Z"), (.url, "Z"), (.url, "Zm9vY"),
            // Unused bits that are not zero: first only the lowest bit, then only the highest.
            (.standard, "Zh=="), (.standard, "Zo=="), (.unpadded, "Zh"), (.unpadded, "Zm9"), (.url, "Zh"),
            (.url, "Zm-"),
            // Digits of the other alphabet.
            (.standard, "-w=="), (.standard, "_w=="), (.unpadded, "_w"), (.url, "/w"), (.url, "+w"), (.url, "-+++"),
            // The characters next to the digits in ASCII.
            (.url, "Zg@A"), (.url, "Zg[A"), (.url, "Zg`A"), (.url, "Zg{A"), (.url, "Zg:A"), (.standard, "Zg.A"),
            // White space and NUL, which other readers skip, and characters outside ASCII.
            (.standard, " Zg=="), (.standard, "Zg==\n"), (.standard, "Zm 9"), (.url, "Zm\09"), (.url, "Zgé"),
            (.url, "Z\u{301}g"), (.url, "\u{FF21}"),
        ]
    )
    func nonCanonicalBase64IsRefused(spelling: Base64, text: String) {
        #expect(spelling.bytes(in: text.utf8) == nil)
    }

    @Test(
        arguments: [
            ("Zg", "f"), ("Zg==", "f"), ("Zg=", "f"), ("Zg=====", "f"), ("Zh", "f"), ("Zm8", "fo"), ("Zm9v=", "foo"),
            ("Pz8-", "??>"), ("Pz8+", "??>"), ("Pj4/Pj4_", ">>?>>?"),
        ]
    )
    func lenientReadingAcceptsBothAlphabetsAndAnyPadding(text: String, bytes: String) {
        #expect(Base64.bytes(inAnySpelling: text.utf8) == Array(bytes.utf8))
    }

    @Test(arguments: ["Z", "Z=", "Zm9vY", "Z=g", "=Zg", "Zg==Zg", "Zg ", "Zg\n", "Zg.A", "Zgé", "Zm\09"])
    func lenientReadingRefusesInvalidText(text: String) {
        #expect(Base64.bytes(inAnySpelling: text.utf8) == nil)
    }
}
