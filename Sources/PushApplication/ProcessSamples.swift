internal import Foundation
internal import Glibc
internal import PushServer

/// Metrics that the operating system measures for this process, under the names that Prometheus'
/// own clients use.
enum ProcessSamples {
    static var all: [MetricSample] {
        var samples = [MetricSample(.build, ["version": Version.current, "commit": Version.commit ?? "unknown"], 1)]
        var usage = rusage()
        if getrusage(RUSAGE_SELF.rawValue, &usage) == 0 {
            let microseconds = usage.ru_utime.microseconds + usage.ru_stime.microseconds
            samples.append(MetricSample(.processorTime, [:], Double(microseconds) / 1_000_000))
        }
        // proc(5): the second number of `statm` is the resident memory in pages.
        let memory = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        if let memory, memory.count > 1, let pages = Int(memory[1]) {
            samples.append(MetricSample(.memory, [:], Double(pages * sysconf(Int32(_SC_PAGESIZE)))))
        }
        if let count = Self.descriptors { samples.append(MetricSample(.descriptors, [:], Double(count))) }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            samples.append(MetricSample(.descriptorLimit, [:], Double(limit.rlim_cur)))
        }
        return samples
    }

    /// The number of open file descriptors.
    private static var descriptors: Int? {
        let folder = "/proc/self/fd"
        var status = stat()
        // From Linux 6.2 on, the folder's size is the number of open descriptors. A listing of a
        // hundred thousand descriptors would block an event loop.
        if stat(folder, &status) == 0, status.st_size > 0 { return Int(status.st_size) }
        // The list includes the descriptor of the folder itself.
        return (try? FileManager.default.contentsOfDirectory(atPath: folder)).map { $0.count - 1 }
    }
}

extension timeval {
    fileprivate var microseconds: Int { self.tv_sec * 1_000_000 + self.tv_usec }
}
