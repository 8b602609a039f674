import Bytes
import Testing

@Suite(.timeLimit(.minutes(5))) struct ASCIITests {
    /// Each class of ASCII characters, with those of the 256 bytes that belong to it.
    private static let classes: [(name: String, isMember: @Sendable (UInt8) -> Bool, members: [UInt8])] = [
        ("digits", \.isDigit, Array("0123456789".utf8)),
        ("small letters", \.isLowercaseLetter, Array("abcdefghijklmnopqrstuvwxyz".utf8)),
        ("capital letters", \.isUppercaseLetter, Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)),
        ("letters", \.isLetter, Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)),
        (
            "letters and digits", \.isLetterOrDigit,
            Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        ),
        ("visible", \.isVisible, Array(UInt8(ascii: "!")...UInt8(ascii: "~"))),
        ("printable", \.isPrintable, Array(UInt8(ascii: " ")...UInt8(ascii: "~"))),
        ("control characters", \.isControl, Array(0..<0x20) + [0x7F]),
        ("blanks", \.isBlank, Array("\t ".utf8)),
    ]

    @Test(arguments: Self.classes.indices)
    func aClassHasItsMembersAndNoOtherByte(index: Int) {
        let (name, isMember, members) = Self.classes[index]
        #expect((UInt8.min...UInt8.max).filter(isMember) == members, "\(name)")
    }

    @Test func lowercasingChangesOnlyASCIICapitals() {
        for byte in UInt8.min...UInt8.max {
            let letter = Character(Unicode.Scalar(byte))
            let expected = letter.isASCII ? letter.lowercased().utf8.first : byte
            #expect(byte.lowercased == expected, "\(byte)")
        }
    }
}
