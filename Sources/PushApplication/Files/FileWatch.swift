import Foundation
import Glibc

/// Properties of a file. Whenever the file changes, at least one of these properties changes.
///
/// The path may be a link, and the properties are those of its target: to change a secret's files,
/// Kubernetes replaces the link to their folder.
struct FileMark: Hashable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    private let times: [Int]

    /// Reads the properties of the file; `nil` if there is no such file.
    init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (self.device, self.inode, self.size) = (status.st_dev, status.st_ino, status.st_size)
        // `st_ctim` is the time of the inode's last change, so it also changes with the file's
        // mode: a file whose mode was corrected must be read again.
        self.times = [status.st_mtim, status.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
    }
}

/// Compares the properties of files (`FileMark`) at intervals, and decides when the files must be
/// read again.
struct FileWatch<Group: Hashable> {
    typealias Marks = [Group: [FileMark?]]

    /// The files' properties at the time when the files were last read, whether or not the files
    /// could be used.
    private var read: Marks
    /// The files' properties at the last call of `findChanges`.
    private var seen: Marks

    init(_ marks: Marks) {
        (self.read, self.seen) = (marks, marks)
    }

    /// Returns the groups of files that the caller must read now.
    ///
    /// These groups have changed since they were read, but not since the last check. If a group
    /// has changed since the last check, a file may be half written, or a new certificate may
    /// still lack its key.
    mutating func findChanges(_ marks: Marks) -> Set<Group> {
        let due = marks.filter { group, marks in self.read[group] != marks && self.seen[group] == marks }
        self.seen = marks
        self.read.merge(due) { $1 }
        return Set(due.keys)
    }

    /// Records that the caller is now reading all files.
    mutating func recordRead(_ marks: Marks) {
        (self.read, self.seen) = (marks, marks)
    }
}
