import Glibc
import Reactor
import Testing

struct DetachedThreadTests {
    /// `stack` is the size of the thread's stack in bytes; no thread can have the larger one.
    @Test(arguments: [1 << 20, 1 << 60])
    func workRunsEvenIfTheSystemStartsNoThread(stack: Int) async {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        #expect(pthread_attr_setstacksize(&attributes, stack) == 0)
        await withCheckedContinuation { continuation in
            detachThread(&attributes) { continuation.resume() }
        }
    }
}
