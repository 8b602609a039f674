internal import Foundation
internal import Glibc
internal import PushStore
internal import Synchronization

/// Overwrites the unallocated space of a database's pages with zeroes, in the file itself.
///
/// `secure_delete` zeroes a deleted cell. But when SQLite splits or merges pages, it leaves copies
/// of cells in their unallocated space. SQLite never reads that space. So the space can be
/// overwritten while readers run, if the log is checkpointed completely and no transaction writes.
///
/// `recordCheckpoint` only collects the numbers of pages, and `wipe` overwrites these pages after
/// an erasure. Before an erasure, the copies reveal nothing that the rows do not.
/// `docs/decisions/sqlite-page-wiping.md` gives the reasons and the measurements.
final class PageWiper: Sendable {
    private struct State {
        /// The descriptor of the database's file. It stays open as long as the database: closing
        /// any descriptor of the file would drop SQLite's locks (see `LockFile`).
        var descriptor: Int32?
        /// The pages that were checkpointed since they were last wiped.
        var checkpointed: Set<Int> = []
        /// The first page that the last process may have left unwiped, and that is not wiped yet;
        /// `nil` if no such page remains.
        var unknown: Int? = 1
        /// Whether zeroes were written that may not be on the disk yet.
        var isUnsynced = false
        var hasWarned = false
    }

    /// The maximum number of collected pages. With more pages, posts would wait too long for the
    /// next wipe.
    private static let maximumCheckpointed = 4096

    let path: String
    /// The path of the write-ahead log.
    var logPath: String { self.path + "-wal" }
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state: Mutex<State>

    /// Opens the database's file. If the file is missing, creates it for its owner only. Throws
    /// `StoreError`.
    init(database: String, onEvent: @escaping @Sendable (StoreEvent) -> Void) throws(StoreError) {
        let descriptor = try openStateFile(database)
        // The mode protects times and sizes, which are not encrypted.
        fchmod(descriptor, 0o600)
        self.path = database
        self.onEvent = onEvent
        self.state = Mutex(State(descriptor: descriptor))
    }

    deinit { self.close() }

    /// Closes the file. Call it after SQLite has closed the database.
    func close() {
        if let descriptor = self.state.withLock({ $0.descriptor.take() }) { _ = Glibc.close(descriptor) }
    }

    /// Throws `StoreError.unusable` if the path no longer names the open file. SQLite would still
    /// write to that file, which nobody can open after the process has ended.
    func requireFile() throws(StoreError) {
        guard let descriptor = self.state.withLock({ $0.descriptor }) else { return }
        try requireStateFile(descriptor, at: self.path)
    }

    // MARK: Known pages

    /// A text that identifies the present state of the file: after each write, the text differs.
    /// `nil` if the file is closed.
    var stamp: String? {
        var status = stat()
        guard let descriptor = self.state.withLock({ $0.descriptor }), fstat(descriptor, &status) == 0 else {
            return nil
        }
        return "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
    }

    /// Whether all pages are wiped, except those that this process has checkpointed since it last
    /// wiped them.
    var knowsAllPages: Bool { self.state.withLock { $0.unknown == nil } }

    /// Records that all pages are wiped. Call it if the last process has wiped the file, and
    /// nobody has written to the file since.
    func recordAllPagesKnown() { self.state.withLock { $0.unknown = nil } }

    // MARK: Wiping

    /// Collects the numbers of the pages in the log, which has just been checkpointed completely.
    /// Returns `false` if the log cannot be read; all pages then count as not wiped.
    ///
    /// Throws `StoreError.broken` if the disk fails.
    func recordCheckpoint() throws(StoreError) -> Bool {
        let log: WriteAheadLog
        do {
            log = try WriteAheadLog(path: self.logPath)
        } catch {
            self.state.withLock { $0.unknown = 1 }
            return false
        }
        let count = self.state.withLock { state in
            state.checkpointed.formUnion(log.pages)
            return state.checkpointed.count
        }
        // No sync is needed here, since the wipe after the next erasure syncs. After a crash, all
        // pages count as not wiped, and the server wipes them again.
        if count > Self.maximumCheckpointed { try self.wipeCheckpointed() }
        return true
    }

    /// Wipes the pages that were checkpointed since they were last wiped, and syncs.
    ///
    /// Call it only while the log is checkpointed completely. Throws `StoreError.broken` if the
    /// disk fails.
    func wipe() throws(StoreError) {
        try self.wipeCheckpointed()
        try self.sync()
    }

    /// Wipes at most `limit` of the pages that the last process may have left unwiped, and syncs.
    /// Returns `false` if no such page remains.
    ///
    /// Call it only while the log is checkpointed completely.
    func wipeUnknown(atMost limit: Int) throws(StoreError) -> Bool {
        guard let first = self.state.withLock({ $0.unknown }), let file = try self.openFile() else { return false }
        let end = min(file.pageCount + 1, first + limit)
        try self.wipe(Array(first..<max(first, end)), of: file)
        try self.sync()
        let isDone = end > file.pageCount
        self.state.withLock { $0.unknown = isDone ? nil : end }
        return !isDone
    }

    /// The bytes of the file, which are read through the open descriptor: closing another
    /// descriptor would drop SQLite's locks.
    func contents() throws(StoreError) -> Data {
        guard let descriptor = self.state.withLock({ $0.descriptor }) else {
            throw .broken(reason: StoreError.closedReason)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure() }
        var bytes = Data(count: Int(status.st_size))
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == bytes.count else { throw Self.failure() }
        return bytes
    }

    // MARK: - Private

    private func wipeCheckpointed() throws(StoreError) {
        let pages = self.state.withLock { $0.checkpointed }
        guard !pages.isEmpty, let file = try self.openFile() else { return }
        try self.wipe(pages.sorted(), of: file)
        self.state.withLock { $0.checkpointed = [] }
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

    /// The pages of the file; `nil` if the file is empty. Also `nil` if the file is so large that
    /// the kinds of its pages cannot be distinguished; this is logged once.
    private func openFile() throws(StoreError) -> DatabaseFile? {
        guard let descriptor = self.state.withLock({ $0.descriptor }) else { return nil }
        guard let file = try DatabaseFile(descriptor) else { return nil }
        if file.pageCount < DatabaseFile.maximumPages { return file }
        let isFirst = self.state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        if isFirst {
            self.onEvent(.notWiped(reason: "the file has \(file.pageCount) pages; at most 33,554,431 are supported"))
        }
        return nil
    }

    static func failure() -> StoreError {
        .broken(reason: "page wiping failed: \(String(cString: strerror(errno)))")
    }
}

/// The page numbers in a write-ahead log (https://www.sqlite.org/fileformat2.html, section 4.1).
private struct WriteAheadLog {
    private static let (headerLength, frameHeaderLength) = (32, 24)

    private(set) var pages: Set<Int> = []

    /// Reads the log. If it is missing or empty, there are no page numbers. Throws
    /// `StoreError.broken` if the log cannot be read, for example for lack of a descriptor or of
    /// memory.
    init(path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return }
            throw PageWiper.failure()
        }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: Self.headerLength)
        guard try Self.read(&header, from: descriptor, at: 0) else { return }
        let pageSize = Self.number(header, at: 8)
        guard (512...65_536).contains(pageSize) else { return }
        // The log is not mapped: if another program truncated it, or the disk failed, reading the
        // mapped bytes would end the process.
        var frame = [UInt8](repeating: 0, count: Self.frameHeaderLength)
        var position = Self.headerLength
        // A frame with other salts is older than the log's last restart.
        while try Self.read(&frame, from: descriptor, at: position), frame[8..<16] == header[16..<24] {
            self.pages.insert(Self.number(frame, at: 0))
            position += Self.frameHeaderLength + pageSize
        }
    }

    /// Reads bytes until the buffer is full; `false` if the file ends before.
    private static func read(
        _ bytes: inout [UInt8],
        from descriptor: Int32,
        at position: Int
    ) throws(StoreError) -> Bool {
        let count = pread(descriptor, &bytes, bytes.count, position)
        guard count >= 0 else { throw PageWiper.failure() }
        return count == bytes.count
    }

    private static func number(_ bytes: [UInt8], at position: Int) -> Int {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}
