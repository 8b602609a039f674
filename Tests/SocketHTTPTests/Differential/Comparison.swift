/// What two verdicts on a stream tell about each other.
struct Comparison {
    enum Result {
        case alike
        /// We refuse what h11 takes, which is always allowed.
        case weAreStricter
        case known(KnownDifference)
        /// Both take a request, and not as the same one.
        case readDifferently
        /// We take, or wait for the rest of, what h11 refuses or ends before.
        case weAreLaxer
    }

    /// How many requests both have taken, as the same ones.
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
