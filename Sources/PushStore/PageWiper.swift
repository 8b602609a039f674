internal import Foundation
internal import Glibc
internal import Synchronization

/// Zeroes what lies in the pages of a database between the cells' pointers and the cells.
///
/// `secure_delete` zeroes a cell where it is deleted; but when a page was divided or joined before that, copies of its
/// cells have stayed in the room that then became free, for as long as nothing else takes it. SQLite never reads that room,
/// so that it can be zeroed in the file, beside readers, once the log has been moved there whole and as long as nobody
/// writes: what a torn write could mix are zeroes and what means nothing. Whoever has the page in memory may write the
/// copies again, but only through the log, whose pages are wiped after each move of it.
final class PageWiper: Sendable {
    /// Page numbers below this one have a first byte that no page of cells has, when they begin an overflow page.
    private static let maximumPages = 1 << 25

    private let log: String
    /// Open as long as the database is: to close any descriptor of it drops SQLite's locks (see `LockFile`).
    private let descriptor: Mutex<Int32?>

    /// Opens the database's file, and makes it, for its owner only, if it is not there. Throws `StoreError`.
    init(database: String) throws(StoreError) {
        let descriptor = open(database, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .cannotOpen(path: database, reason: String(cString: strerror(errno)))
        }
        // Names and times are there in clear.
        fchmod(descriptor, 0o600)
        self.log = database + "-wal"
        self.descriptor = Mutex(descriptor)
    }

    deinit {
        self.close()
    }

    /// To be called after SQLite has closed the database.
    func close() {
        if let descriptor = self.descriptor.withLock({ $0.take() }) { _ = Glibc.close(descriptor) }
    }

    /// Wipes the pages that the log names, which has just been moved into the database whole.
    ///
    /// Throws `StoreError.broken` if the disk fails.
    func wipe() throws(StoreError) {
        guard let descriptor = self.descriptor.withLock({ $0 }), let log = WriteAheadLog(path: self.log) else { return }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw self.failure() }
        let count = Int(status.st_size) / log.pageSize
        guard count < Self.maximumPages else { return }
        var isChanged = false
        var page = [UInt8](repeating: 0, count: log.pageSize)
        for number in log.pages.sorted() where (1...count).contains(number) {
            let position = (number - 1) * log.pageSize
            guard pread(descriptor, &page, page.count, position) == page.count else { throw self.failure() }
            guard let room = Self.room(in: page, isFirst: number == 1), page[room].contains(where: { $0 != 0 }) else {
                continue
            }
            let zeroes = [UInt8](repeating: 0, count: room.count)
            guard pwrite(descriptor, zeroes, room.count, position + room.lowerBound) == room.count else {
                throw self.failure()
            }
            isChanged = true
        }
        if isChanged { guard fdatasync(descriptor) == 0 else { throw self.failure() } }
    }

    /// Where a page of cells has none (https://www.sqlite.org/fileformat2.html, section 1.6); `nil` for other pages.
    static func room(in page: [UInt8], isFirst: Bool) -> Range<Int>? {
        // The first page begins with the file's header.
        let header = isFirst ? 100 : 0
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

    private func failure() -> StoreError {
        .broken(reason: "erasing: \(String(cString: strerror(errno)))")
    }
}

/// Which pages the log has (https://www.sqlite.org/fileformat2.html, section 4.1).
private struct WriteAheadLog {
    private static let headerLength = 32
    private static let frameHeaderLength = 24

    let pageSize: Int
    private(set) var pages: Set<Int> = []

    /// `nil` if there is no log, or nothing in it.
    init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: Self.headerLength)
        guard pread(descriptor, &header, header.count, 0) == header.count else { return nil }
        self.pageSize = Self.number(header, at: 8)
        guard (512...65_536).contains(self.pageSize) else { return nil }
        var frame = [UInt8](repeating: 0, count: Self.frameHeaderLength)
        var position = Self.headerLength
        // What is behind the frames with the header's salts is left of what the log was before.
        while pread(descriptor, &frame, frame.count, position) == frame.count, frame[8..<16] == header[16..<24] {
            self.pages.insert(Self.number(frame, at: 0))
            position += frame.count + self.pageSize
        }
    }

    private static func number(_ bytes: [UInt8], at position: Int) -> Int {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}
