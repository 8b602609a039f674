internal import Glibc

/// Measures the processor time of a thread, independent of other load on the machine.
package enum ComputingTime {
    /// Returns whether reading `count` units takes less than 5 ms, or less than eight times as
    /// long as reading a quarter of them.
    ///
    /// A quadratic reader takes sixteen times as long for all units as for a quarter of them.
    /// Tests run without optimisation, so even a linear reader may need more than 5 ms on a slow
    /// machine. The measurement is repeated. A disturbance affects one measurement, but a
    /// quadratic reader is slow in all of them.
    package static func isInProportion<Input>(
        to count: Int,
        _ make: (Int) -> Input,
        _ read: (Input) -> Void
    ) -> Bool {
        let (part, whole) = (make(count / 4), make(count))
        return (0..<5).contains { _ in
            let time = self.of(whole, read)
            return time < .milliseconds(5) || time < self.of(part, read) * 8
        }
    }

    private static func of<Input>(_ input: Input, _ read: (Input) -> Void) -> Duration {
        let start = self.now
        read(input)
        return self.now - start
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
