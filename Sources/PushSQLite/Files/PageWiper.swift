internal import Foundation
internal import Glibc
internal import PushStore
internal import Synchronization

/// Zeroes what lies in the pages of a database between the cells' pointers and the cells.
///
/// `secure_delete` zeroes a cell where it is deleted; but when a page was divided or joined before that, copies of its
/// cells have stayed in the room that then became free, for as long as nothing else takes it. SQLite never reads that room,
/// so that it can be zeroed in the file, beside readers, once the log has been moved there whole and as long as nobody
/// writes: what a torn write could mix are zeroes and what means nothing.
///
/// As long as nothing is erased the copies tell nothing that is not there anyway. So what is moved is only remembered, and
/// wiped when something was erased, with which the writer also forgets the pages that it has in memory.
final class PageWiper: Sendable {
    private struct State {
        /// Open as long as the database is: to close any descriptor of it drops SQLite's locks (see `LockFile`).
        var descriptor: Int32?
        /// Pages that were moved into the file since they were wiped.
        var moved: Set<Int> = []
        /// The next page that is to be wiped because nobody knows what the last process left there; `nil`: all are known.
        var unknown: Int? = 1
        /// Whether something was zeroed that may not be on the disk yet.
        var isUnsynced = false
        var hasWarned = false
    }

    /// So many pages are wiped at most at a time, so that no post waits long: what is more is not put off.
    private static let moveBound = 4096

    private let log: String
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state: Mutex<State>

    /// Opens the database's file, and makes it, for its owner only, if it is not there. Throws `StoreError`.
    init(database: String, onEvent: @escaping @Sendable (StoreEvent) -> Void) throws(StoreError) {
        let descriptor = open(database, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .cannotOpen(place: database, reason: String(cString: strerror(errno)))
        }
        // Names and times are there in clear.
        fchmod(descriptor, 0o600)
        self.log = database + "-wal"
        self.onEvent = onEvent
        self.state = Mutex(State(descriptor: descriptor))
    }

    deinit {
        self.close()
    }

    /// To be called after SQLite has closed the database.
    func close() {
        if let descriptor = self.state.withLock({ $0.descriptor.take() }) { _ = Glibc.close(descriptor) }
    }

    // MARK: What is known

    /// What tells the file, as it is now, from any other and from what it becomes by being written; `nil` if it is closed.
    var stamp: String? {
        var status = stat()
        guard let descriptor = self.state.withLock({ $0.descriptor }), fstat(descriptor, &status) == 0 else {
            return nil
        }
        return "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
    }

    /// Whether all pages are wiped, but for those that were moved since.
    var knowsAllPages: Bool { self.state.withLock { $0.unknown == nil } }

    /// Takes in that the file is as it was left wiped.
    func noteAllPagesKnown() {
        self.state.withLock { $0.unknown = nil }
    }

    // MARK: Wiping

    /// Remembers the pages that the log names, which has just been moved into the database whole; `false` if it cannot be
    /// read, so that all pages are unknown.
    ///
    /// Throws `StoreError.broken` if the disk fails.
    func noteMove() throws(StoreError) -> Bool {
        let log: WriteAheadLog
        do {
            log = try WriteAheadLog(path: self.log)
        } catch {
            self.state.withLock { $0.unknown = 1 }
            return false
        }
        let count = self.state.withLock { state in
            state.moved.formUnion(log.pages)
            return state.moved.count
        }
        // Not on the disk yet: that is for the next erasure, and after a crash all pages are unknown.
        if count > Self.moveBound { try self.wipeMoved() }
        return true
    }

    /// Wipes what was moved since the last time, on the disk. Not while the log has anything to be moved.
    ///
    /// Throws `StoreError.broken` if the disk fails.
    func wipe() throws(StoreError) {
        try self.wipeMoved()
        try self.sync()
    }

    /// Wipes the next of those pages that are unknown; `false` if there are no more. Not while the log has anything to be
    /// moved.
    func wipeUnknown(atMost limit: Int) throws(StoreError) -> Bool {
        guard let first = self.state.withLock({ $0.unknown }), let file = try self.openFile() else { return false }
        let end = min(file.pageCount + 1, first + limit)
        try self.wipe(Array(first..<max(first, end)), of: file)
        try self.sync()
        let isDone = end > file.pageCount
        self.state.withLock { $0.unknown = isDone ? nil : end }
        return !isDone
    }

    /// What is in the file, read without dropping SQLite's locks.
    func contents() throws(StoreError) -> Data {
        guard let descriptor = self.state.withLock({ $0.descriptor }) else { throw .broken(reason: "it is closed") }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure() }
        var bytes = Data(count: Int(status.st_size))
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == bytes.count else { throw Self.failure() }
        return bytes
    }

    // MARK: - Private

    private func wipeMoved() throws(StoreError) {
        let pages = self.state.withLock { $0.moved }
        guard !pages.isEmpty, let file = try self.openFile() else { return }
        try self.wipe(pages.sorted(), of: file)
        self.state.withLock { $0.moved = [] }
    }

    private func wipe(_ pages: [Int], of file: DatabaseFile) throws(StoreError) {
        if try file.wipe(pages) { self.state.withLock { $0.isUnsynced = true } }
    }

    private func sync() throws(StoreError) {
        let descriptor = self.state.withLock { $0.isUnsynced ? $0.descriptor : nil }
        guard let descriptor else { return }
        guard fdatasync(descriptor) == 0 else { throw Self.failure() }
        self.state.withLock { $0.isUnsynced = false }
    }

    /// The file, if its pages can be told apart; an operator hears of it once if they cannot.
    private func openFile() throws(StoreError) -> DatabaseFile? {
        guard let descriptor = self.state.withLock({ $0.descriptor }) else { return nil }
        guard let file = try DatabaseFile(descriptor) else { return nil }
        if file.pageCount < DatabaseFile.maximumPages { return file }
        let isFirst = self.state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        if isFirst {
            self.onEvent(
                .notWiped(reason: "the file has \(file.pageCount) pages; at most 33,554,431 are supported")
            )
        }
        return nil
    }

    static func failure() -> StoreError {
        .broken(reason: "erasing: \(String(cString: strerror(errno)))")
    }
}

/// Which pages the log has (https://www.sqlite.org/fileformat2.html, section 4.1).
private struct WriteAheadLog {
    private static let headerLength = 32
    private static let frameHeaderLength = 24

    private(set) var pages: Set<Int> = []

    /// None if there is no log, or nothing in it. Throws `StoreError.broken` if it cannot be read, for want of a descriptor
    /// or of memory.
    init(path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return }
            throw PageWiper.failure()
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw PageWiper.failure() }
        guard status.st_size >= Self.headerLength else { return }
        // A call for each of some thousands of frames would take longer than to move them. Only the writer cuts the log off,
        // and this is called by it.
        let length = Int(status.st_size)
        guard let start = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0), start != MAP_FAILED else {
            throw PageWiper.failure()
        }
        defer { munmap(start, length) }
        let bytes = UnsafeRawBufferPointer(start: start, count: length)
        let pageSize = Self.number(bytes, at: 8)
        guard (512...65_536).contains(pageSize) else { return }
        let salts = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        var position = Self.headerLength
        // What is behind the frames with the header's salts is left of what the log was before.
        while position + Self.frameHeaderLength <= length,
            bytes.loadUnaligned(fromByteOffset: position + 8, as: UInt64.self) == salts
        {
            self.pages.insert(Self.number(bytes, at: position))
            position += Self.frameHeaderLength + pageSize
        }
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Int {
        Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
    }
}
