internal import Bytes

extension JSONValue {
    /// The JSON text in UTF-8, without blanks.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        self.write(to: &bytes)
        return bytes
    }

    /// Appends the JSON text.
    public func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let digits): bytes.append(contentsOf: digits.utf8)
        case .string(let text): bytes.appendJSONString(text.utf8)
        case .array(let elements):
            bytes.appendList("[", "]", elements) { $1.write(to: &$0) }
        case .object(let members):
            bytes.appendList("{", "}", members) { bytes, member in
                bytes.appendJSONString(member.name.utf8)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
        }
    }
}

extension [UInt8] {
    /// Appends a JSON string with its quotes; `text` must be UTF-8.
    package mutating func appendJSONString(_ text: some Sequence<UInt8>) {
        self.append(UInt8(ascii: "\""))
        // Nearly all texts need no escapes.
        let isCopied = text.withContiguousStorageIfAvailable { bytes in
            guard bytes.allSatisfy(\.isPlainInJSON) else { return false }
            self.append(contentsOf: bytes)
            return true
        }
        if isCopied != true { self.appendEscaped(text) }
        self.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaped(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                self.append(UInt8(ascii: "\\"))
                self.append(byte)
            case 0x0A: self.append(contentsOf: "\\n".utf8)
            case 0x0D: self.append(contentsOf: "\\r".utf8)
            case 0x09: self.append(contentsOf: "\\t".utf8)
            case 0..<0x20, 0x7F:
                self.append(contentsOf: "\\u00".utf8)
                self.append(UInt8(hexDigit: byte >> 4))
                self.append(UInt8(hexDigit: byte & 15))
            default: self.append(byte)
            }
        }
    }

    fileprivate mutating func appendList<Item>(
        _ open: Unicode.Scalar,
        _ close: Unicode.Scalar,
        _ elements: [Item],
        _ write: (inout [UInt8], Item) -> Void
    ) {
        self.append(UInt8(ascii: open))
        for (index, element) in elements.enumerated() {
            if index > 0 { self.append(UInt8(ascii: ",")) }
            write(&self, element)
        }
        self.append(UInt8(ascii: close))
    }
}

extension UInt8 {
    /// Whether the byte needs no escape in a JSON string.
    fileprivate var isPlainInJSON: Bool {
        self >= 0x20 && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\") && self != 0x7F
    }
}
