import Foundation
import Synchronization

enum Threads {
    /// Runs `body` on `count` threads at once, and waits for their end. Returns the number of
    /// calls that returned `false`.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Bool) -> Int {
        let failures = Failures()
        let threads = (0..<count).compactMap { number in
            var thread = pthread_t()
            let start = Unmanaged.passRetained(Start { if !body(number) { failures.count.add(1, ordering: .relaxed) } })
            let result = pthread_create(
                &thread,
                nil,
                { pointer in
                    if let pointer { Unmanaged<Start>.fromOpaque(pointer).takeRetainedValue().body() }
                    return nil
                },
                start.toOpaque()
            )
            return result == 0 ? thread : nil
        }
        for thread in threads { pthread_join(thread, nil) }
        return failures.count.load(ordering: .relaxed) + count - threads.count
    }

    private final class Failures: Sendable {
        let count = Atomic(0)
    }

    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}
