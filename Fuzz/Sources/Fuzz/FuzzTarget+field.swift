@testable import HTTPSignatures

extension FuzzTarget {
    /// A structured field: a field that is written is read as the same one. The parser accepts
    /// only text that RFC 9651 would have written, apart from blanks and the spelling of numbers.
    static func field(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        // The reason for a refusal does not matter here.
        if let dictionary = try? StructuredFieldParser.dictionary(text) {
            let written = dictionary.text
            let again = try StructuredFieldParser.dictionary(written)
            try require(again == dictionary && again.text == written, "\(text) is read as it is written, \(written)")
            try require(written.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "\(written) is printable ASCII")
        }
        if let item = try? StructuredFieldParser.item(text) {
            try require(try StructuredFieldParser.item(item.text) == item, "\(text) is read as it is written")
        }
    }
}
