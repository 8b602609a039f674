import Bytes
import Testing

@Suite(.timeLimit(.minutes(5))) struct HexadecimalTests {
    @Test(
        arguments: [
            // The examples of RFC 4648 section 10, in lower case, and more bytes.
            (Array("".utf8), ""), (Array("f".utf8), "66"), (Array("fo".utf8), "666f"),
            (Array("foobar".utf8), "666f6f626172"),
            ([0x00, 0x09, 0x0A, 0x0F, 0x10, 0x7F, 0x80, 0x9A, 0xFF], "00090a0f107f809aff"),
        ]
    )
    func bytesAreTwoDigitsEach(bytes: [UInt8], text: String) {
        #expect(Hexadecimal.text(of: bytes) == text)
    }

    @Test func eachValueIsReadFromItsDigitsAndFromNoOtherByte() {
        var values: [UInt8: UInt8] = [:]
        for (value, digit) in "0123456789abcdef".utf8.enumerated() { values[digit] = UInt8(value) }
        for (value, digit) in "ABCDEF".utf8.enumerated() { values[digit] = UInt8(value + 10) }
        for byte in UInt8.min...UInt8.max {
            #expect(byte.hexDigitValue == values[byte], "\(byte)")
            #expect(byte.isHexDigit == (values[byte] != nil), "\(byte)")
        }
        for (value, digit) in "0123456789abcdef".utf8.enumerated() {
            #expect(UInt8(hexDigit: UInt8(value)) == digit)
        }
    }
}
