internal import CEpoll
internal import Glibc

/// The number of descriptors that connections may use.
extension Listener {
    /// The largest number of descriptors that are left for files and for calls to other servers.
    package static let mostReservedDescriptors = 256

    /// The limit for the descriptors of connections: their numbers must be below it. Half of the
    /// free descriptors are left for other uses, but not more than `mostReservedDescriptors`.
    package static var usableDescriptors: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        let all = Int(clamping: limit.rlim_cur)
        return all - min(max(0, all - self.lowestFree) / 2, self.mostReservedDescriptors)
    }

    /// The lowest free descriptor, which the kernel assigns next.
    static var lowestFree: Int {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { return .max }
        close(descriptor)
        return Int(descriptor)
    }
}
