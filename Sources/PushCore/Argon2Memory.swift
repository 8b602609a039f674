internal import Glibc
internal import Synchronization

/// The working memory of Argon2, reused from one hash to the next.
///
/// The number of blocks is never greater than the largest number of hashes that have run at the
/// same time. If malloc allocated a block for each hash, each thread that has ever hashed a
/// password could keep a block in its arena. Argon2 zeroes a block before it frees it.
enum Argon2Memory {
    private struct Block: Sendable {
        let address: UInt
        let size: Int
    }

    private static let idle = Mutex<[Block]>([])

    /// Returns a block of `size` bytes; `nil` if there is no memory.
    static func take(_ size: Int) -> UnsafeMutablePointer<UInt8>? {
        let (found, others) = Self.idle.withLock { idle -> (Block?, [Block]) in
            if let index = idle.lastIndex(where: { $0.size == size }) { return (idle.remove(at: index), []) }
            // Idle blocks of another size are freed: otherwise they would stay allocated in
            // addition to the new block.
            defer { idle = [] }
            return (nil, idle)
        }
        for block in others { munmap(UnsafeMutableRawPointer(bitPattern: block.address), block.size) }
        if let found { return UnsafeMutablePointer(bitPattern: found.address) }
        let made = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        return made == MAP_FAILED ? nil : made?.assumingMemoryBound(to: UInt8.self)
    }

    static func giveBack(_ memory: UnsafeMutablePointer<UInt8>, _ size: Int) {
        Self.idle.withLock { $0.append(Block(address: UInt(bitPattern: memory), size: size)) }
    }

    /// The number of blocks that are not in use.
    static var idleCount: Int { Self.idle.withLock { $0.count } }
}
