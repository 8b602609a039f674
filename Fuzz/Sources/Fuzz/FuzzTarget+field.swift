@testable import HTTPSignatures

extension FuzzTarget {
    /// A structured field: what is read is read again from what it is written as, and nothing is read that RFC 9651 would
    /// not have written, apart from blanks and the spelling of numbers.
    static func field(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        // Why a text is none is of no interest here.
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
