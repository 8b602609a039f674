internal import PushCore

/// A provider's answers and what each means, as data: the first row whose status and words fit counts.
///
/// Without a row, a status that says yes is one, and anything else is taken for trouble that passes.
struct OutcomeTable: Sendable {
    /// Answers that ask the same of us.
    struct Row: Sendable {
        let statuses: ClosedRange<Int>
        /// One of them must be said; empty: whatever is said.
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

    /// The statuses that say yes.
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
