internal import Glibc

/// The time for which a thread computes, whatever else the machine does meanwhile.
package enum ComputingTime {
    /// The least of three runs on the calling thread, or the only one if it takes long.
    package static func of(_ work: () -> Void) -> Duration {
        var least = Duration.seconds(3600)
        for _ in 0..<3 {
            let start = self.now
            work()
            least = min(least, self.now - start)
            if least > .seconds(1) { break }
        }
        return least
    }

    /// Whether reading `count` units takes at most 5 ms, or no more than its share of what a quarter of them takes.
    ///
    /// A quadratic reader takes sixteen times as long for all of them. Tests run without optimisation, so 5 ms alone would
    /// be a bound of the machine. What disturbs one measurement is gone in one of the next, where a quadratic reader is as slow.
    package static func isInProportion<Input>(
        to count: Int,
        _ make: (Int) -> Input,
        _ read: (Input) -> Void
    ) -> Bool {
        let (part, whole) = (make(count / 4), make(count))
        return (0..<5).contains { _ in
            let time = self.of { read(whole) }
            return time < .milliseconds(5) || time < self.of { read(part) } * 8
        }
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
