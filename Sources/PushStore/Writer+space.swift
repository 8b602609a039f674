internal import Dispatch
internal import GRDB

/// A full disk: nothing is stored, nothing that was stored is lost, and the writer finds out by itself when there is room.
extension Writer {
    /// How often it looks.
    private static let lookAfter = DispatchTimeInterval.seconds(1)

    /// Takes in that something could not be written for want of room.
    func noteFull() {
        if self.space.note(isFull: true) { self.lookLater() }
    }

    private func lookLater() {
        // Dropped with the writer.
        self.queue.asyncAfter(deadline: .now() + Self.lookAfter) { [weak self] in self?.lookForRoom() }
    }

    /// Commits something that changes nothing, and moves the log, which may need room in the database's file; then asks for
    /// more room than a usual transaction takes.
    ///
    /// Asked of the database first, since a bound of SQLite's may be what is used up; but a log that begins anew takes a small
    /// commit on a disk that is full, and the next posts fail again. Not left to the next post, since a server that is not
    /// ready may be sent none.
    private func lookForRoom() {
        guard self.failure == nil else { return }
        do {
            try self.connection.writeWithoutTransaction { db in
                try db.inTransaction(.immediate) {
                    try db.execute(sql: "update change_number set reserved = reserved")
                    return .commit
                }
                _ = try self.moveLog(db)
            }
            guard DiskSpace.hasRoom(beside: self.connection.path) else { return self.lookLater() }
            self.space.note(isFull: false)
        } catch {
            self.stopIfBroken(error)
            self.lookLater()
        }
    }
}

extension DatabaseError {
    /// Whether it failed for want of room, so that nothing of it is there and it may be tried again.
    ///
    /// The index of a long log is a file, too, and its growing fails with a code of its own.
    var isFull: Bool { self.resultCode == .SQLITE_FULL || self.extendedResultCode == .SQLITE_IOERR_SHMSIZE }
}
