internal import Dispatch
internal import Glibc

/// Runs `work`, which may block, on a new thread with these attributes; see pthread_create(3).
///
/// If the system starts no further thread, as at the limit of a container, the work runs on a
/// thread of libdispatch. `Thread.detachNewThread` would drop the work without an error, and its
/// caller would wait for ever.
package func detachThread(
    _ attributes: UnsafePointer<pthread_attr_t>? = nil,
    _ work: @escaping @Sendable () -> Void
) {
    let context = Unmanaged.passRetained(ThreadWork(work))
    var thread = pthread_t()
    let code = pthread_create(
        &thread,
        attributes,
        { context in
            guard let context else { return nil }
            Unmanaged<ThreadWork>.fromOpaque(context).takeRetainedValue().run()
            return nil
        },
        context.toOpaque()
    )
    if code == 0 {
        pthread_detach(thread)
    } else {
        context.release()
        DispatchQueue.global().async(execute: work)
    }
}

private final class ThreadWork: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
