/// The delays between retries: twice as long each time, with jitter, so that many clients do not
/// retry at once.
struct Backoff {
    private let first: Duration
    private let longest: Duration
    private var current: Duration

    init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        self.current = first
    }

    /// The next delay: a random one between half of the current delay and all of it.
    mutating func next() -> Duration {
        defer { self.current = min(self.current * 2, self.longest) }
        return self.current * Double.random(in: 0.5...1)
    }

    mutating func reset() {
        self.current = self.first
    }
}
