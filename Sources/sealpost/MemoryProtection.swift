import CPrctl
import Glibc
import Logging

/// Keeps what is in clear in memory, payloads and keys, in this process.
///
/// To be made before the first secret is read.
struct MemoryProtection {
    /// What could not be had, as ends of a line in the log.
    private let failures: [String]

    /// Takes away core dumps, and everybody's look into this process but root's (`PR_SET_DUMPABLE`, ptrace(2)).
    ///
    /// Both, because a program that takes dumps through a pipe is asked whatever the limit is (core(5)).
    init() {
        var failures: [String] = []
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        if setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) != 0 {
            failures.append("RLIMIT_CORE: \(String(cString: strerror(errno)))")
        }
        if cprctl_forbid_dumps() != 0 { failures.append("PR_SET_DUMPABLE: \(String(cString: strerror(errno)))") }
        self.failures = failures
    }

    /// Warns of what could not be had.
    func report(to logger: Logger) {
        for failure in self.failures {
            logger.warning(
                "memory protection failed; core dumps and debuggers can read secrets",
                metadata: ["error": "\(failure)"]
            )
        }
    }
}
