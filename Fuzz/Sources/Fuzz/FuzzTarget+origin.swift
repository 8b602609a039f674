@testable import PushServer

extension FuzzTarget {
    /// `Origin`: accepted if and only if it is a scheme, a host and perhaps a port, as a regular
    /// expression checks. In its canonical spelling it is the same origin.
    static func origin(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let origin = WebOrigin(text)
        if let origin {
            let spelling = origin.description
            try require(WebOrigin(spelling) == origin, "\(spelling) is read as it is written")
            try require(spelling == spelling.lowercased(), "\(spelling) is in lower case")
            try require(bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "what is not ASCII is no origin")
        }
        // The expression would treat a letter and a combining character as one character.
        guard bytes.allSatisfy({ $0 < 0x80 }), !bytes.contains(0x0D) else { return }
        let form = /[A-Za-z][-A-Za-z0-9+.]*:\/\/([-A-Za-z0-9._]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?/
        guard let match = text.wholeMatch(of: form)?.output else {
            try require(origin == nil, "\(text) has not the form of an origin")
            return
        }
        let port = match.2.map { Int($0) ?? 0 } ?? 1
        guard (1...65_535).contains(port) else {
            try require(origin == nil, "\(port) is no port")
            return
        }
        // The system decides which addresses are valid.
        let last = match.1.split(separator: ".").last ?? ""
        guard match.1.first != "[", !last.allSatisfy({ ("0"..."9").contains($0) }) || last.isEmpty else { return }
        try require(origin != nil, "\(text) is an origin")
    }
}
