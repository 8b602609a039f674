internal import CEpoll
internal import Glibc

/// How many descriptors connections may take.
extension Listener {
    /// The number below which connections may have descriptors. Half of those that are free now, at most 256, are left for
    /// files and for calls to other servers.
    package static var usableDescriptors: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        let all = Int(clamping: limit.rlim_cur)
        return all - min(max(0, all - self.lowestFree) / 2, 256)
    }

    /// The kernel gives the lowest number that is free.
    static var lowestFree: Int {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { return .max }
        close(descriptor)
        return Int(descriptor)
    }
}
