internal import Glibc
internal import PushStore

/// A database's file, read as pages (https://www.sqlite.org/fileformat2.html). This type can
/// overwrite the unallocated space of a page, between the cell pointers and the cells, with
/// zeroes.
struct DatabaseFile {
    /// A file with this number of pages, or more, cannot be wiped. An overflow page begins with a
    /// page number, and with so high a number it could be mistaken for a b-tree page.
    static let maximumPages = 1 << 25

    private static let headerLength = 100
    /// The maximum number of neighbouring pages that one call reads.
    private static let maximumRun = 32
    /// The position of the bytes that SQLite locks. The page that contains them has no other use.
    private static let lockPosition = 1 << 30

    let descriptor: Int32
    let pageSize: Int
    let pageCount: Int
    /// The number of pages from one pointer map page to the next; `nil` without `auto_vacuum`,
    /// since the database then has no pointer map.
    private let pointerMapInterval: Int?

    /// Reads the file's header; `nil` if the file has no whole page. Throws `StoreError.broken` if
    /// the disk fails.
    init?(_ descriptor: Int32) throws(StoreError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw PageWiper.failure() }
        guard status.st_size >= Self.headerLength else { return nil }
        var header = [UInt8](repeating: 0, count: Self.headerLength)
        guard pread(descriptor, &header, header.count, 0) == header.count else { throw PageWiper.failure() }
        let size = Int(header[16]) << 8 | Int(header[17])
        self.descriptor = descriptor
        self.pageSize = size == 1 ? 65_536 : size
        guard (512...65_536).contains(self.pageSize) else { return nil }
        self.pageCount = Int(status.st_size) / self.pageSize
        guard self.pageCount > 0 else { return nil }
        // These bytes contain the largest root page; without auto_vacuum they are zero. Pages of
        // the pointer map must be recognised, since they may begin like a page with cells.
        let hasPointerMaps = header[52..<56].contains { $0 != 0 }
        self.pointerMapInterval = hasPointerMaps ? (self.pageSize - Int(header[20])) / 5 + 1 : nil
    }

    /// Overwrites the unallocated space of the b-tree pages in `pages` with zeroes. Returns
    /// whether any of these bytes was not zero before. `pages` must be sorted.
    ///
    /// Throws `StoreError.broken` if the disk fails.
    func wipe(_ pages: [Int]) throws(StoreError) -> Bool {
        var isChanged = false
        let zeroes = [UInt8](repeating: 0, count: self.pageSize)
        let pages = pages.filter { (1...self.pageCount).contains($0) && !self.isPointerMap($0) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.maximumRun * self.pageSize, alignment: 16)
        defer { buffer.deallocate() }
        var next = 0
        while next < pages.count {
            let first = pages[next]
            var count = 1
            while count < Self.maximumRun, next + count < pages.count, pages[next + count] == first + count {
                count += 1
            }
            next += count
            let length = count * self.pageSize
            guard pread(self.descriptor, buffer.baseAddress, length, (first - 1) * self.pageSize) == length else {
                throw PageWiper.failure()
            }
            for number in first..<first + count {
                let start = (number - first) * self.pageSize
                let page = UnsafeRawBufferPointer(rebasing: buffer[start..<start + self.pageSize])
                // The bytes are compared by the C library. Without optimisation, a loop in Swift
                // would be slow, and the tests open many databases.
                guard let room = Self.room(in: page, isFirst: number == 1), let bytes = page.baseAddress,
                    memcmp(bytes + room.lowerBound, zeroes, room.count) != 0
                else { continue }
                let position = (number - 1) * self.pageSize + room.lowerBound
                guard pwrite(self.descriptor, zeroes, room.count, position) == room.count else {
                    throw PageWiper.failure()
                }
                isChanged = true
            }
        }
        return isChanged
    }

    /// Whether a page belongs to the pointer map (section 1.8 of the file format).
    func isPointerMap(_ number: Int) -> Bool {
        guard let interval = self.pointerMapInterval, number >= 2 else { return false }
        let first = (number - 2) / interval * interval + 2
        // The page with SQLite's locks never belongs to the pointer map; the next page takes its
        // place.
        return number == (first == Self.lockPosition / self.pageSize + 1 ? first + 1 : first)
    }

    /// The unallocated space of a page with cells (section 1.6 of the file format); `nil` for a
    /// page of another kind.
    static func room(in page: UnsafeRawBufferPointer, isFirst: Bool) -> Range<Int>? {
        // The first page begins with the header of the file.
        let header = isFirst ? Self.headerLength : 0
        let pointers: Int
        switch page[header] {
        case 0x02, 0x05: pointers = header + 12
        case 0x0A, 0x0D: pointers = header + 8
        default: return nil
        }
        let number = { (position: Int) in Int(page[position]) << 8 | Int(page[position + 1]) }
        let start = pointers + 2 * number(header + 3)
        let end = number(header + 5) == 0 ? 65_536 : number(header + 5)
        return start <= end && end <= page.count ? start..<end : nil
    }
}
