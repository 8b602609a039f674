@testable import SocketHTTP

extension FuzzTarget {
    /// The PROXY protocol: the reader asks for each byte of the header and for none behind it, and
    /// a client of version 1 is the one in the text.
    static func proxy(_ bytes: [UInt8]) throws {
        var count = 0
        while true {
            switch ProxyHeader.step(after: Array(bytes[..<count])) {
            case .malformed: return
            case .read(let more):
                try require(more > 0, "a step reads a byte")
                try require(count + more <= 16 + 2048, "a header is short")
                guard count + more <= bytes.count else { return }
                count += more
            case .complete(let source):
                try Self.check(source, Array(bytes[..<count]))
                return
            }
        }
    }

    private static func check(_ source: ProxyHeader.Source, _ header: [UInt8]) throws {
        guard header.starts(with: Array("PROXY ".utf8)) else {
            try require(header.count == 16 + Int(header[14]) * 256 + Int(header[15]), "its length is in the header")
            try require(header[12] == 0x21 || source == .balancer, "LOCAL names no client")
            return
        }
        let text = String(decoding: header, as: UTF8.self)
        try require(text.unicodeScalars.filter { $0 == "\n" }.count == 1, "the header is one line")
        guard case .client(let address) = source else { return }
        let words = text.split(separator: " ")
        try require(words.count == 6 && IPAddress(words[2]) == address, "\(address) is in \(text)")
    }
}
