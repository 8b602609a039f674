import CPrctl
import Glibc
import Logging
import PushApplication

/// Protects the secrets in this process's memory, such as keys and decrypted payloads, from other
/// processes.
///
/// Create this value before the first secret is read.
struct MemoryProtection {
    /// The protections that failed, as texts for the log.
    private let failures: [String]

    /// Disables core dumps, and denies every user but root access to the process's memory
    /// (`PR_SET_DUMPABLE`, ptrace(2)).
    ///
    /// A limit of 0 for the size of core dumps does not suffice: a program that receives dumps
    /// through a pipe gets them at any limit (core(5)).
    init() {
        var failures: [String] = []
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        if setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) != 0 {
            failures.append("RLIMIT_CORE: \(String(cString: strerror(errno)))")
        }
        if cprctl_forbid_dumps() != 0 { failures.append("PR_SET_DUMPABLE: \(String(cString: strerror(errno)))") }
        self.failures = failures
    }

    /// Logs a warning for each protection that failed.
    func report(to logger: Logger) {
        for failure in self.failures {
            logger.warning(
                "memory protection failed; core dumps and debuggers can read secrets",
                metadata: ["error": "\(failure)"]
            )
        }
    }
}
