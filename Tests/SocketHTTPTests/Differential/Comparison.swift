/// Compares how two servers read the same stream of requests.
struct Comparison {
    enum Result {
        case alike
        /// This project's server refuses a request that h11 accepts, which is always allowed.
        case weAreStricter
        case known(KnownDifference)
        /// Both servers accept a request, but read it differently.
        case readDifferently
        /// This project's server accepts a request that h11 refuses, or waits for more bytes where
        /// h11 ends the connection.
        case weAreLaxer
    }

    /// The number of requests that both servers accepted and read in the same way.
    let common: Int
    let result: Result

    init(_ ours: Verdict, _ theirs: Verdict, on stream: [UInt8]) {
        let both = min(ours.requests.count, theirs.requests.count)
        self.common = (0..<both).first { ours.requests[$0] != theirs.requests[$0] } ?? both
        if self.common < both {
            self.result = .readDifferently
        } else if ours.requests.count == theirs.requests.count, ours.ending == theirs.ending {
            self.result = .alike
        } else if ours.requests.count == both, ours.ending == .refused {
            self.result = .weAreStricter
        } else if theirs.requests.count == both, let known = KnownDifference(ours, theirs, after: both, of: stream) {
            self.result = .known(known)
        } else {
            self.result = .weAreLaxer
        }
    }
}
