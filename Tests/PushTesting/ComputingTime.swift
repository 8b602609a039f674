internal import Glibc

/// The time for which a thread computes, independent of other load on the machine.
package enum ComputingTime {
    /// Returns whether reading `count` units takes at most 5 ms, or no more than its proportional
    /// share of the time for a quarter of them.
    ///
    /// A quadratic reader takes sixteen times as long for all of them. Tests run without
    /// optimisation, so 5 ms alone would measure the machine. A disturbance of one measurement is
    /// gone in a later one, where a quadratic reader is as slow as before.
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
