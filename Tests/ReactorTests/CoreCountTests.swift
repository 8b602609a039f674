import Foundation
import Testing

@testable import Reactor

@Suite(.timeLimit(.minutes(5))) struct CoreCountTests {
    /// Files of a system, by path, and how many of 8 cores these files allow a process to use.
    @Test(
        arguments: [
            ([:], 8),
            (["proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"], 8),
            (["proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 100000\n"], 1),
            (["proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "250000 100000\n"], 3),
            (
                [
                    "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "600000 100000\n",
                    "sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/cpu.max": "400000 100000\n",
                ], 4
            ),
            // Inside a container, its control group is at the root, whatever path the container's
            // group has outside.
            (["proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/cpu.max": "20000 100000\n"], 1),
            (["proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "9000000 100000\n"], 8),
            (["proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense\n"], 8),
            (
                [
                    "proc/self/cgroup": "5:memory:/a\n4:cpu,cpuacct:/a\n0::/x\n",
                    "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "150000\n",
                    "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
                ], 2
            ),
            (
                [
                    "proc/self/cgroup": "4:cpu,cpuacct:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                ], 8
            ),
        ] as [([String: String], Int)]
    )
    func theQuotasOfControlGroupsCount(files: [String: String], cores: Int) throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "cores-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in files {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
        #expect(CoreCount.allowed(affinity: 8, root: root.path) == cores)
    }

    @Test func countIsAtMostTheMachines() {
        #expect((1...sysconf(Int32(_SC_NPROCESSORS_ONLN))).contains(CoreCount.current))
    }
}
