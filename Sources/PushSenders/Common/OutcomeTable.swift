internal import PushCore

/// A provider's answers and the outcome of each, as data: the first row whose status and words
/// match decides.
///
/// If no row matches, a status in `accepted` is a success, and any other is a temporary failure.
struct OutcomeTable: Sendable {
    /// Answers that lead to the same failure.
    struct Row: Sendable {
        let statuses: ClosedRange<Int>
        /// The answer must have one of these words; an empty list matches any answer.
        let words: [String]
        let failure: @Sendable (ProviderAnswer) -> SendFailure

        init(
            _ statuses: ClosedRange<Int>,
            _ words: [String] = [],
            failure: @escaping @Sendable (ProviderAnswer) -> SendFailure
        ) {
            self.statuses = statuses
            self.words = words
            self.failure = failure
        }

        fileprivate func fits(_ answer: ProviderAnswer) -> Bool {
            self.statuses.contains(answer.status)
                && (self.words.isEmpty || answer.words.contains(where: self.words.contains))
        }
    }

    /// The statuses of success.
    let accepted: ClosedRange<Int>
    let rows: [Row]

    init(accepted: ClosedRange<Int>, _ rows: [Row]) {
        self.accepted = accepted
        self.rows = rows
    }

    func outcome(of answer: ProviderAnswer) -> SendOutcome {
        if let row = self.rows.first(where: { $0.fits(answer) }) { return .failure(row.failure(answer)) }
        if self.accepted.contains(answer.status) { return .success(Acceptance(providerID: answer.providerID)) }
        return .failure(.unavailable(reason: answer.reason, retryAfter: answer.retryAfter))
    }
}
