internal import Glibc
internal import Synchronization

/// Gives each thread a number of its own, counted from 0, when the thread first asks for it.
///
/// The number itself is the value of a thread-specific variable, and no pointer to it. So a thread
/// that ends leaves no memory to free.
enum ThreadNumber {
    private static let count = Atomic(0)
    private static let variable: pthread_key_t = {
        var variable = pthread_key_t()
        precondition(pthread_key_create(&variable, nil) == 0, "the process has no thread-specific variable left")
        return variable
    }()

    static var current: Int {
        // The value is the number plus one, since a new thread reads a null.
        let known = UInt(bitPattern: pthread_getspecific(self.variable))
        if known > 0 { return Int(bitPattern: known - 1) }
        let number = self.count.wrappingAdd(1, ordering: .relaxed).oldValue & 0xFFFF_FFFF
        // If a thread's number cannot be stored, the thread gets another one each time, which does
        // no harm.
        pthread_setspecific(self.variable, UnsafeRawPointer(bitPattern: number + 1))
        return number
    }
}
