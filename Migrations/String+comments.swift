extension String {
    /// The SQL without its comments, without the spaces before them and without empty lines.
    ///
    /// A comment begins with `--` outside of quotes and ends with its line. SQL has more syntax
    /// for comments and quotes (`/*`, `$`, `[`, a backquote), which no migration uses. It stays in
    /// the text, so a schema with it differs from the migrations'.
    package var withoutComments: String {
        var (bytes, quote, isComment): ([UInt8], UInt8?, Bool) = ([], nil, false)
        bytes.reserveCapacity(self.utf8.count + 1)
        for byte in "\(self)\n".utf8 {
            switch (quote, byte) {
            case (nil, UInt8(ascii: "\n")):
                isComment = false
                while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
                if bytes.last != UInt8(ascii: "\n"), !bytes.isEmpty { bytes.append(byte) }
            case _ where isComment: break
            case (nil, UInt8(ascii: "-")) where bytes.last == byte:
                bytes.removeLast()
                isComment = true
            case (nil, UInt8(ascii: "'")), (nil, UInt8(ascii: "\"")):
                quote = byte
                bytes.append(byte)
            default:
                if quote == byte { quote = nil }
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
