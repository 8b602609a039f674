internal import Synchronization

/// A reference that is set at most once, by any thread, and then read without a lock.
///
/// `@unchecked Sendable`: the pointer refers to a `Sendable` object.
///
/// The standard library's `AtomicLazyReference` looks a type up at each read, which takes 700
/// instructions.
package struct LazyReference<Object: AnyObject & Sendable>: ~Copyable, @unchecked Sendable {
    private let pointer = Atomic<OpaquePointer?>(nil)

    package init() {}

    deinit {
        if let pointer = self.pointer.load(ordering: .acquiring) { Self.unmanaged(pointer).release() }
    }

    /// The object; `nil` before it is set.
    @inline(__always)
    package func load() -> Object? {
        self.pointer.load(ordering: .acquiring).map { Self.unmanaged($0).takeUnretainedValue() }
    }

    /// Sets the reference unless it is set already, and returns the present object.
    package func storeIfNil(_ object: Object) -> Object {
        let new = Unmanaged.passRetained(object)
        let (isStored, old) = self.pointer.compareExchange(
            expected: nil,
            desired: OpaquePointer(new.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        guard !isStored, let old else { return object }
        new.release()
        return Self.unmanaged(old).takeUnretainedValue()
    }

    private static func unmanaged(_ pointer: OpaquePointer) -> Unmanaged<Object> {
        .fromOpaque(UnsafeRawPointer(pointer))
    }
}
