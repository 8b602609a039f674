internal import Glibc
internal import Reactor

/// Resolves hosts' names, and caches their addresses for 30 s. Each lookup has its own thread,
/// since `getaddrinfo` blocks.
///
/// `@unchecked Sendable`: only the loop's thread uses the members. The threads of lookups get
/// copies, and return their results through the loop's `execute`.
final class NameResolver: @unchecked Sendable {
    private static let lifetime = Duration.seconds(30)

    private struct Entry {
        var addresses: [String] = []
        var end: ContinuousClock.Instant?
        /// The callers that wait for the running lookup; if empty, no lookup is running.
        var waiting: [([String]) -> Void] = []
    }

    private let loop: EventLoop
    private var entries: [String: Entry] = [:]

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Calls `completion` with the addresses of a name, immediately if they are cached. If the
    /// name has no addresses, calls it with an empty array.
    ///
    /// A lookup may take as long as the system's resolver needs, so the caller needs its own
    /// deadline.
    func addresses(of name: String, _ completion: @escaping ([String]) -> Void) {
        self.loop.assertOnLoop()
        let entry = self.entries[name] ?? Entry()
        if let end = entry.end, end > self.loop.now { return completion(entry.addresses) }
        self.entries[name, default: entry].waiting.append(completion)
        guard entry.waiting.isEmpty else { return }
        detachThread { [loop] in
            let addresses = Self.resolve(name)
            loop.execute { [weak self] in self?.take(addresses, of: name) }
        }
    }

    /// Expires all cached addresses. The caller calls this when no server at any of these
    /// addresses has answered.
    func forget() {
        for name in self.entries.keys { self.entries[name]?.end = nil }
    }

    // MARK: - Private

    private func take(_ addresses: [String], of name: String) {
        guard let entry = self.entries[name] else { return }
        let end = addresses.isEmpty ? nil : self.loop.now + Self.lifetime
        self.entries[name] = Entry(addresses: addresses, end: end)
        for completion in entry.waiting { completion(addresses) }
    }

    private static func resolve(_ name: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let result = getnameinfo(
                entry.pointee.ai_addr,
                entry.pointee.ai_addrlen,
                &text,
                socklen_t(text.count),
                nil,
                0,
                NI_NUMERICHOST
            )
            if result == 0 {
                let bytes = text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
                addresses.append(String(decoding: bytes, as: UTF8.self))
            }
            next = entry.pointee.ai_next
        }
        return addresses
    }
}
