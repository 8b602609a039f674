import Bytes
import HTTPTypes
import Testing

@testable import SocketHTTP

/// Cases of request heads that the table of `WireTests` cannot contain.
@Suite(.timeLimit(.minutes(5))) struct HeadParserTests {
    @Test func aTargetIsTakenUpToItsLimitAndNoFurther() {
        let limits = ServerLimits { $0.targetBytes = 100 }
        for (count, expected) in [(100, nil), (101, Refusal.targetTooLong), (10_000, .targetTooLong)] {
            let text = "GET /\(String(repeating: "a", count: count - 1)) HTTP/1.1\r\nHost: a\r\n\r\n"
            let whole = expected.map(Outcome.refused) ?? .complete(text.utf8.count)
            #expect(outcome(of: text, in: [], limits: limits) == whole)
            #expect(outcome(of: text, in: Array(0..<text.utf8.count), limits: limits) == whole)
        }
    }

    @Test func fieldsAreTakenUpToTheirLimitsAndNoFurther() {
        let limits = ServerLimits { ($0.headerBytes, $0.headerCount) = (1000, 10) }
        let start = "GET / HTTP/1.1\r\nHost: a\r\n"
        func sized(_ count: Int) -> String {
            "\(start)X: \(String(repeating: "a", count: count - start.utf8.count - 7))\r\n\r\n"
        }
        let tenLines = start + String(repeating: "X: a\r\n", count: 9) + "\r\n"
        let elevenLines = start + String(repeating: "X: a\r\n", count: 10) + "\r\n"
        for (text, fits) in [(sized(1000), true), (sized(1001), false), (tenLines, true), (elevenLines, false)] {
            let whole = fits ? Outcome.complete(text.utf8.count) : .refused(.headerTooLarge)
            #expect(outcome(of: text, in: [], limits: limits) == whole)
            #expect(outcome(of: text, in: Array(0..<text.utf8.count), limits: limits) == whole)
        }
    }

    @Test func aFieldWithoutEndIsRefusedAsSoonAsItIsTooLong() {
        let limits = ServerLimits { $0.headerBytes = 1000 }
        let text = "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 2000)
        #expect(outcome(of: text, in: [1000], limits: limits) == .refused(.headerTooLarge))
    }

    @Test func aParserThatIsResetReadsTheNextRequest() throws {
        let first = Array("POST /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n".utf8)
        let second = Array("GET /b HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
        var parser = HeadParser(limits: ServerLimits())
        #expect(try parser.parse(first.span) == first.count)
        let kept = parser.head
        parser.reset()
        #expect(try parser.parse(second.span) == second.count)
        #expect(parser.head.path == "/b")
        #expect(parser.head.authority == "b")
        #expect(parser.head.body == .none)
        #expect(parser.head.isVersion10 == false)
        #expect(kept.path == "/a")
        #expect(kept.fields.map(\.name) == ["Host", "Connection", "Content-Length"])
    }

    @Test(arguments: ["CONNECT b:1 HTTP/1.1\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"])
    func aRefusedHeadHasNothingOfTheRequestBefore(text: String) throws {
        let first = Array("POST /a?\(String(repeating: "b", count: 99)) HTTP/1.0\r\nContent-Length: 3\r\n\r\n".utf8)
        let second = Array(text.utf8)
        var parser = HeadParser(limits: ServerLimits())
        #expect(try parser.parse(first.span) == first.count)
        parser.reset()
        #expect(throws: Refusal.self) { try parser.parse(second.span) }
        #expect(parser.fieldsAreRead)
        #expect(parser.head.target == "/")
        #expect(parser.head.body == .none)
    }

    @Test func onlyARefusalAfterTheFieldsHasAHead() {
        for (text, isRead) in [
            ("GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nMyToken: 7\r\n\r\n", true),
        ] {
            let bytes = Array(text.utf8)
            var parser = HeadParser(limits: ServerLimits())
            #expect(throws: Refusal.self) { try parser.parse(bytes.span) }
            #expect(parser.fieldsAreRead == isRead)
        }
    }

    /// The parser checks eight bytes at a time. The test puts each byte at each place of short
    /// values.
    @Test func aValueHasNoControlsAnywhere() {
        func isValue(_ bytes: [UInt8]) -> Bool { bytes.span.isFieldValue(ByteRange(0, bytes.count)) }
        for count in 1...20 {
            for place in 0..<count {
                for byte in UInt8.min ... .max {
                    var value = [UInt8](repeating: 0x20, count: count)
                    value[place] = byte
                    guard isValue(value) != (byte >= 0x20 && byte != 0x7F || byte == 0x09) else { continue }
                    Issue.record("\(byte) at \(place) of \(count)")
                }
            }
        }
        #expect(isValue([]))
        #expect(!isValue([0x20, 0x20, 0x00, 0x20, 0x7F, 0x20, 0x20, 0x09, 0xFF]))
        #expect(isValue([0x09, 0xFF, 0x80, 0x21, 0x7E, 0x20, 0x20, 0x09, 0xFF]))
    }

    /// The comparison takes eight bytes at a time. The test puts each byte at each place of short
    /// names.
    @Test func theVisibleBytesEndAtTheFirstOther() {
        var mistakes: [[UInt8]] = []
        // The two other bytes are the lowest and the highest visible ones.
        for length in 0...18 {
            for place in 0..<length {
                for byte in UInt8.min ... .max {
                    for others in [UInt8(0x21), 0x7E] {
                        var bytes = [UInt8](repeating: others, count: length)
                        bytes[place] = byte
                        let end = bytes.firstIndex { !(0x21...0x7E).contains($0) } ?? length
                        if bytes.span.endOfVisible(ByteRange(0, length)) != end { mistakes.append(bytes) }
                    }
                }
            }
        }
        #expect(mistakes == [])
    }

    @Test func aNameEqualsOnlyItselfInAnyCase() {
        for count in 1...17 {
            for place in 0..<count {
                for wanted in "amz-09~^_".utf8 {
                    var name = [UInt8](repeating: UInt8(ascii: "q"), count: count)
                    name[place] = wanted
                    for byte in UInt8.min ... .max {
                        var bytes = [UInt8](repeating: UInt8(ascii: "Q"), count: count)
                        bytes[place] = byte
                        let isEqual = name.withUnsafeBytes { bytes.span.equals(ByteRange(0, count), anyCase: $0) }
                        guard isEqual != (byte.lowercased == wanted) else { continue }
                        Issue.record("\(byte) at \(place) of \(count)")
                    }
                }
            }
        }
    }

    @Test func theTablesHoldExactlyTheGrammar() {
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        for (set, text) in [
            (ByteSet.token, "!#$%&'*+-.^_`|~"),
            (.hostName, "-._~!$&'()*+,;="),
            (.path, "-._~!$&'()*+,;=:@/"),
            (.query, "-._~!$&'()*+,;=:@/?"),
        ] {
            let members = Set((letters + text).utf8)
            for byte in UInt8.min ... .max { #expect(set.contains(byte) == members.contains(byte)) }
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct HeadParserRoomTests {
    @Test func aLongHeadsRoomIsGivenBack() throws {
        var parser = HeadParser(limits: ServerLimits())
        let head = Array("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 10_000))\r\n\r\n".utf8)
        #expect(try parser.parse(head.span) == head.count)
        #expect(parser.parts.bytes.capacity > 10_000)
        parser.reset()
        parser.release()
        #expect(parser.parts.bytes.capacity <= InputBuffer.usualSize)
    }
}
