internal import Foundation
internal import Synchronization

/// The parent of this process's temporary folders. It is removed when the process ends, even by a
/// crash.
package final class ScratchRoot: Sendable {
    /// The storage medium of a folder's files.
    package enum Medium: Sendable {
        case disk
        /// In memory, if the machine has enough, because waiting for a disk would take a third of
        /// the time of all tests. No test data needs to survive a power cut. If `TMPDIR` is set,
        /// its folder is used instead.
        case memory
        /// In memory, for files of gigabytes, if the machine has enough.
        case muchMemory
    }

    package let path: String
    private let script: TiedScript
    private let count = Atomic(0)

    private init(in parent: String) throws {
        // The path is short, because the path of a socket has at most 107 bytes. The name is
        // random, because processes in two containers can have the same id. If they shared a
        // folder, the first one to end would delete it.
        self.path = "\(parent)/sealpost-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: false)
        self.script = try TiedScript(Self.removal, [self.path])
    }

    package static func on(_ medium: Medium) throws -> ScratchRoot {
        switch medium {
        case .disk: try self.disk.get()
        case .memory: try (self.gibibytesOfMemory >= 2 ? self.memory : self.disk).get()
        case .muchMemory: try (self.gibibytesOfMemory >= 12 ? self.memory : self.disk).get()
        }
    }

    func newPath() -> String {
        "\(self.path)/\(self.count.add(1, ordering: .relaxed).newValue)"
    }

    // MARK: - Private

    /// Removes the folder again and again, because processes that end together with this process
    /// may still write into the folder.
    private static let removal = """
        trap '' INT TERM HUP
        read -r nothing <&3
        until rm -rf "$1" 2>&-; do sleep 0.1; done
        """

    private static let disk = Result { try ScratchRoot(in: FileManager.default.temporaryDirectory.path) }
    private static let memory = Result { try ScratchRoot(in: folderInMemory) }
    private static let folderInMemory = "/dev/shm"

    /// The memory that files may use, in GiB. It is 0 if files in memory are not wanted or not
    /// possible.
    private static let gibibytesOfMemory: UInt64 = {
        var status = statvfs()
        guard ProcessInfo.processInfo.environment["TMPDIR"] == nil,
            let mounts = try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8),
            mounts.contains(" \(folderInMemory) tmpfs "), statvfs(folderInMemory, &status) == 0,
            let memory = try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8),
            let available = memory.firstMatch(of: /MemAvailable: +(\d+) kB/).flatMap({ UInt64($0.output.1) })
        else { return 0 }
        let free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
        return ([free, available << 10] + limitsOfContainer).reduce(.max, min) >> 30
    }()

    /// The memory limits of the container in which this process runs, by control groups of version
    /// 2 or 1. Empty without a container.
    private static var limitsOfContainer: [UInt64] {
        ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"].compactMap { file in
            let text = try? String(contentsOfFile: file, encoding: .utf8)
            return text.flatMap { UInt64($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        }
    }
}
