import Testing

@testable import Bytes

@Suite struct ByteWriterTests {
    private func text(upTo most: Int, _ write: (inout ByteWriter) -> Void) -> String {
        var bytes = Array("> ".utf8)
        bytes.append(upTo: most, write)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func partsAreAppendedToTheExistingBytes() {
        let text = self.text(upTo: 64) { writer in
            writer.write("Age: ")
            writer.write(decimal: 17)
            writer.write(UInt8(ascii: ";"))
            writer.write(Array("bytes".utf8))
            writer.write(string: " \u{E9}")
            writer.write(count: 2) { $0.copyBytes(from: "\r\n".utf8) }
        }
        #expect(text == "> Age: 17;bytes \u{E9}\r\n")
    }

    @Test(arguments: [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 12_345, -1, -10, .max, .min] as [Int])
    func aNumberHasAllItsDigits(number: Int) {
        #expect(self.text(upTo: 20) { $0.write(decimal: number) } == "> \(number)")
    }

    @Test func numbersAroundEachPowerOfTenAreWrittenInFull() {
        var power = 1
        for _ in 0..<19 {
            for number in [power - 1, power, power + 1] {
                #expect(self.text(upTo: 20) { $0.write(decimal: number) } == "> \(number)")
            }
            power = power.multipliedReportingOverflow(by: 10).partialValue
        }
    }

    @Test func eachPairOfDigitsIsWritten() {
        for number in 0..<20_000 {
            guard self.text(upTo: 20, { $0.write(decimal: number) }) != "> \(number)" else { continue }
            Issue.record("\(number)")
        }
    }

    @Test func reservedBytesMayStayUnused() {
        #expect(self.text(upTo: 1000) { _ in } == "> ")
        #expect(self.text(upTo: 0) { $0.write("") } == "> ")
        #expect(self.text(upTo: 3) { $0.write("abc") } == "> abc")
    }

    @Test func anErrorLeavesTheBytesAsTheyWere() {
        struct Refused: Error {}
        var bytes: [UInt8] = [1]
        #expect(throws: Refused.self) {
            try bytes.append(upTo: 8) { writer throws(Refused) in
                writer.write("abc")
                throw Refused()
            }
        }
        #expect(bytes == [1])
    }
}
