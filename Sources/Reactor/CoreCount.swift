internal import CEpoll
internal import Glibc

/// The number of cores that this process may use, by its affinity and by the quotas of its control
/// groups.
package enum CoreCount {
    /// The number of cores for this process, at least 1.
    package static var current: Int { self.allowed(affinity: Int(cepoll_core_count()), root: "") }

    /// Reads the quotas of this process's control group and of all groups above it, as each group
    /// may have a quota; `root` is prepended to all paths.
    ///
    /// In a container, the kernel may report the group's path as seen from outside; inside the
    /// container, there is no such file. So a missing file is skipped, and the root of the mounted
    /// groups is also read: in a container, it may be the container's own group.
    package static func allowed(affinity: Int, root: String) -> Int {
        var count = max(1, affinity)
        for line in Self.text(root + "/proc/self/cgroup").split(separator: "\n") {
            // A line has the hierarchy's number, its controllers and the group's path. For version
            // 2, the number is 0, and there are no controllers.
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let isVersion2 = parts[0] == "0" && parts[1].isEmpty
            guard isVersion2 || parts[1].split(separator: ",").contains("cpu") else { continue }
            var path = parts[2].split(separator: "/")
            while true {
                let group = path.map { "/\($0)" }.joined()
                let quota =
                    isVersion2
                    ? Self.version2(root + "/sys/fs/cgroup" + group)
                    : Self.version1(root + "/sys/fs/cgroup/cpu" + group)
                if let quota { count = min(count, quota) }
                if path.popLast() == nil { break }
            }
        }
        return count
    }

    // MARK: - Private

    /// Reads `150000 100000`: the processor time for each period, and the period, both in
    /// microseconds. Without a limit, the file has `max 100000`.
    private static func version2(_ folder: String) -> Int? {
        let numbers = self.text(folder + "/cpu.max").split { $0 == " " || $0 == "\n" }
        guard numbers.count == 2 else { return nil }
        return self.cores(quota: numbers[0], period: numbers[1])
    }

    private static func version1(_ folder: String) -> Int? {
        let quota = self.text(folder + "/cpu.cfs_quota_us").split(separator: "\n")
        let period = self.text(folder + "/cpu.cfs_period_us").split(separator: "\n")
        guard let quota = quota.first, let period = period.first else { return nil }
        return self.cores(quota: quota, period: period)
    }

    /// Rounds up, because two loops make the best use of one and a half cores.
    private static func cores(quota: Substring, period: Substring) -> Int? {
        guard let quota = Int(quota), let period = Int(period), quota > 0, period > 0 else { return nil }
        return max(1, (quota - 1) / period + 1)
    }

    /// The first 4096 bytes of a file; no file that is read here is longer. Empty if the file
    /// cannot be read.
    private static func text(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
