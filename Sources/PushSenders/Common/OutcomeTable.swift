internal import PushCore

/// A table of a provider's answers and the outcome of each. The first row whose status and words
/// match an answer decides.
///
/// If no row matches, an answer with a status in `accepted` is a success, and any other answer is
/// a temporary failure.
struct OutcomeTable: Sendable {
    /// Answers that lead to the same failure.
    struct Row: Sendable {
        let statuses: ClosedRange<Int>
        /// An answer matches only if it has one of these words; if the list is empty, the words do
        /// not matter.
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

    /// The statuses that mean success.
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
