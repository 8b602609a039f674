import Foundation

/// Bytes in two pieces, which no function can read as one contiguous piece without a copy.
struct ScatteredBytes: DataProtocol {
    let regions: [Data]

    init(_ bytes: [UInt8]) {
        self.regions = [Data(bytes.prefix(bytes.count / 2)), Data(bytes.dropFirst(bytes.count / 2))]
    }

    var startIndex: Int { 0 }
    var endIndex: Int { self.regions[0].count + self.regions[1].count }

    subscript(position: Int) -> UInt8 {
        let first = self.regions[0].count
        return position < first ? self.regions[0][position] : self.regions[1][position - first]
    }

    subscript(bounds: Range<Int>) -> Slice<ScatteredBytes> { Slice(base: self, bounds: bounds) }
}
