import Foundation
import Glibc

/// The marks of a file: properties of which at least one differs after each change of the file.
///
/// A path is followed to its target: Kubernetes replaces the link to the folder of a secret's
/// files.
struct FileMark: Hashable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    private let times: [Int]

    /// Reads the file's mark; `nil` if there is no such file.
    init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (self.device, self.inode, self.size) = (status.st_dev, status.st_ino, status.st_size)
        // The change time is of the inode, so it shows a change of the mode, too: a corrected mode
        // is a reason to read a file again.
        self.times = [status.st_mtim, status.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
    }
}

/// Decides from the marks of files when they are read again.
struct FileWatch<Group: Hashable> {
    typealias Marks = [Group: [FileMark?]]

    /// The marks of the files at their last reading, whether the files could be used or not.
    private var read: Marks
    /// The marks at the last check.
    private var seen: Marks

    init(_ marks: Marks) {
        (self.read, self.seen) = (marks, marks)
    }

    /// Returns the groups that the caller reads now.
    ///
    /// These groups have changed since they were read, but not since the last check. A group that
    /// changed since the last check may have a half-written file, or lack the key of a new
    /// certificate.
    mutating func findChanges(_ marks: Marks) -> Set<Group> {
        let due = marks.filter { group, marks in self.read[group] != marks && self.seen[group] == marks }
        self.seen = marks
        self.read.merge(due) { $1 }
        return Set(due.keys)
    }

    /// Notes that the caller reads all files now.
    mutating func recordRead(_ marks: Marks) {
        (self.read, self.seen) = (marks, marks)
    }
}
