import Glibc
import HTTPTypes
import Testing

@testable import SocketHTTP

private func encode(
    _ response: Response,
    isHead: Bool = false,
    connection: ResponseEncoder.ConnectionLine = .implied
) -> String {
    var encoder = ResponseEncoder()
    var output: [UInt8] = []
    encoder.appendHead(of: response, isHead: isHead, connection: connection, now: 784_111_777, to: &output)
    return String(decoding: output, as: UTF8.self)
}

private let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

@Suite(.timeLimit(.minutes(5))) struct ResponseEncoderTests {
    @Test func fieldsKeepTheirOrderAndSpellingAndOursFollow() throws {
        let name = try #require(HTTPField.Name("MyToken"))
        let response = Response(
            status: .ok,
            fields: [.wwwAuthenticate: "Basic", name: "20", .wwwAuthenticate: "Bearer"],
            body: Array("hello".utf8)
        )
        #expect(
            encode(response) == "HTTP/1.1 200 OK\r\nWWW-Authenticate: Basic\r\nMyToken: 20\r\n"
                + "WWW-Authenticate: Bearer\r\n\(date)Content-Length: 5\r\n\r\n"
        )
    }

    @Test func handlersCannotSetFieldsOfTheServer() {
        let response = Response(
            status: .ok,
            fields: [
                .contentLength: "99", .transferEncoding: "chunked", .connection: "x", .date: "then",
                .init("Keep-Alive") ?? .age: "y",
            ]
        )
        #expect(
            encode(response, connection: .close)
                == "HTTP/1.1 200 OK\r\nDate: then\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    }

    @Test func linesAreRemovedByTheirWholeNameInAnyCase() throws {
        let other = try #require(HTTPField.Name("cache-control"))
        let longer = try #require(HTTPField.Name("Cache-Control-More"))
        var fields: ResponseFields = [
            .cacheControl: "private", .age: "Cache-Control: 1", longer: "x", other: "no-cache", .expires: "0",
        ]
        fields.remove(.cacheControl)
        #expect(fields.lines.map(\.value) == ["Cache-Control: 1", "x", "0"])
        fields.remove(.cacheControl)
        fields.remove(.expires)
        #expect(fields == [.age: "Cache-Control: 1", longer: "x"])
    }

    @Test func removedDateIsReplacedByTheServers() {
        var fields: ResponseFields = [.date: "then", .contentLength: "7"]
        fields.remove(.date)
        fields.remove(.contentLength)
        #expect(encode(Response(status: .ok, fields: fields), isHead: true).contains("\(date)Content-Length: 0\r\n"))
    }

    @Test func headTellsTheLengthOfGet() {
        #expect(encode(Response(status: .ok, body: [1, 2, 3]), isHead: true).hasSuffix("Content-Length: 3\r\n\r\n"))
        let bare = Response(status: .ok, fields: [.contentLength: "7"])
        #expect(encode(bare, isHead: true).hasSuffix("Content-Length: 7\r\n\r\n"))
        #expect(encode(bare).hasSuffix("Content-Length: 0\r\n\r\n"))
    }

    @Test(arguments: [204, 304]) func statusesWithoutContentHaveNoLength(code: Int) {
        let text = encode(Response(status: .init(code: code, reasonPhrase: "X"), body: [1]))
        #expect(text == "HTTP/1.1 \(code) X\r\n\(date)\r\n")
    }

    @Test func aValueCannotBreakOutOfItsLine() {
        let evil = "a\r\nSet-Cookie: x\n\r\0b\r\n\r\n<html>"
        var response = Response(
            status: .init(code: 200, reasonPhrase: "O\r\nK"),
            fields: [.location: evil]
        )
        response.fields.append(.location, evil)
        let text = encode(response)
        #expect(text.utf8.count { $0 == 0x0D } == 6)
        #expect(text.utf8.count { $0 == 0x0A } == 6)
        #expect(!text.utf8.contains(0))
    }

    @Test func numbersAreWrittenLikeStrings() {
        let powers = sequence(first: 1) { $0 > .max / 10 ? nil : $0 * 10 }
        for number in powers.flatMap({ [$0 - 1, $0, $0 + 1, -$0] }) + [.max, .min] {
            var text: [UInt8] = []
            text.append(decimal: number)
            #expect(String(decoding: text, as: UTF8.self) == "\(number)")
        }
    }

    @Test func appendedFieldsKeepTheirMeaning() {
        var fields: ResponseFields = [.eTag: "x"]
        fields.append(contentsOf: [.date: "then", .contentLength: "7", .age: "1"])
        let head = encode(Response(status: .ok, fields: fields), isHead: true)
        #expect(head == "HTTP/1.1 200 OK\r\nETag: x\r\nDate: then\r\nAge: 1\r\nContent-Length: 7\r\n\r\n")
    }

    @Test func theDateLineFollowsTheClock() {
        var line = DateLine()
        #expect(String(decoding: line.bytes(at: 784_111_777), as: UTF8.self) == date)
        #expect(line.bytes(at: 784_111_777) != line.bytes(at: 784_111_778))
    }
}
