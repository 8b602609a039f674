/// The delays between retries. Each delay is twice as long as the one before, with jitter, so that
/// many clients do not retry at the same moment.
struct Backoff {
    private let first: Duration
    private let longest: Duration
    private var current: Duration

    init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        self.current = first
    }

    /// Returns the next delay: a random duration between half and all of the current delay.
    mutating func next() -> Duration {
        defer { self.current = min(self.current * 2, self.longest) }
        return self.current * Double.random(in: 0.5...1)
    }

    mutating func reset() {
        self.current = self.first
    }
}
