import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Long lists for clients that accept gzip.
@Suite(.timeLimit(.minutes(5))) struct ListCompressionTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func list(_ headers: (String, String)..., query: String = "") async throws -> Response {
        try await self.fixture.send(.get, "/api/notifications\(query)", headers: headers)
    }

    private func post(_ count: Int) async throws {
        for number in 0..<count { _ = try await self.fixture.post(#"{"Payload":"number \#(number)"}"#, user: "alice") }
    }

    @Test(arguments: [6, 20]) func aCompressedListHasTheSameTextAndItsOwnEntityTag(count: Int) async throws {
        try await self.post(count)
        let plain = try await self.list()
        let response = try await self.list(("Accept-Encoding", "gzip"))
        let isLong = plain.body.count > 1024
        #expect(isLong == (count == 20))
        #expect(response.fields[.contentEncoding] == (isLong ? "gzip" : nil))
        #expect(plain.fields[.contentEncoding] == nil)
        for response in [plain, response] { #expect(response.fields[.vary] == "Authorization, Accept-Encoding") }
        guard isLong else {
            #expect(response.body == plain.body)
            #expect(response.fields[.eTag] == plain.fields[.eTag])
            return
        }
        let tag = try #require(plain.fields[.eTag])
        #expect(response.fields[.eTag] == "\(tag.dropLast())-gzip\"")
        #expect(response.fields[.cacheControl] == plain.fields[.cacheControl])
        #expect(try await self.unpacked(response.body) == plain.text)
        #expect(try await self.list(("Accept-Encoding", "gzip")).body == response.body, "the same tag, the same bytes")
        #expect(response.body.count < plain.body.count)
    }

    @Test func eitherEntityTagGetsNotModified() async throws {
        try await self.post(20)
        let tag = try #require(try await self.list().fields[.eTag])
        let packed = "\(tag.dropLast())-gzip\""
        for accepted in ["gzip", "identity"] {
            for own in [tag, packed] {
                let response = try await self.list(("Accept-Encoding", accepted), ("If-None-Match", own))
                #expect(response.status == .notModified)
                #expect(response.fields[.eTag] == own)
                #expect(response.fields[.contentEncoding] == nil)
                #expect(response.fields[.vary] == "Authorization, Accept-Encoding")
            }
        }
    }

    @Test func signedListsAndSingleItemsAreNotCompressed() async throws {
        let path = try await self.fixture.post(#"{"Payload":"\#(String(repeating: "x", count: 5000))"}"#, user: "alice")
        let alone = try await self.fixture.send(.get, path, headers: [("Accept-Encoding", "gzip")])
        #expect(alone.fields[.contentEncoding] == nil)
        #expect(alone.fields[.vary] == "Authorization")
        #expect(try await self.list(("Accept-Encoding", "gzip")).fields[.contentEncoding] == "gzip")
        let asked = ("Accept-Signature", #"sig=("@status")"#)
        #expect(try await self.list(("Accept-Encoding", "gzip"), asked).fields[.contentEncoding] == nil)
    }

    @Test func theLengthHasNewNoiseAfterEachChange() async throws {
        try await self.post(20)
        var lengths: Set<Int> = []
        for number in 0..<30 {
            _ = try await self.fixture.post(#"{"Payload":"\#(number)","ExpiresIn":1}"#, user: "alice")
            self.fixture.clock.advance(by: 0.1)
            let response = try await self.list(("Accept-Encoding", "gzip"))
            let name = response.body.dropFirst(10).prefix { $0 != 0 }
            #expect(name.allSatisfy { $0 == UInt8(ascii: "x") } && name.count <= 255)
            lengths.insert(name.count)
        }
        #expect(lengths.count > 15, "\(lengths.sorted())")
    }

    @Test func compressedTextUnpacksWithAnyLengthOfNoise() async throws {
        let bytes = Array(String(repeating: "text ", count: 1000).utf8)
        for length in [0, 1, 255] {
            let packed = try #require(Gzip.compress(bytes, nameLength: length))
            #expect(try await self.unpacked(packed) == String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Decompresses the bytes with Python's decoder.
    private func unpacked(_ bytes: [UInt8]) async throws -> String {
        let folder = try TemporaryFolder()
        let file = folder.file("list.gz")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let program = "import gzip, sys; sys.stdout.write(gzip.open(sys.argv[1], 'rt', encoding='utf-8').read())"
        let ended = try await ChildProcess("/usr/bin/python3", ["-c", program, file], in: folder.path).end()
        #expect(ended.code == 0, "\(ended.errors)")
        return ended.output
    }
}
