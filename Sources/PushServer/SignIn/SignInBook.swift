internal import PushStore

/// The sign-ins on this server that the other servers must know; limited, so that no guesser fills
/// the database.
///
/// An attempt may end before it is reported. Then only its outcome is reported, or nothing if it
/// was not checked or has changed nothing.
struct SignInBook: Sendable {
    private var attempts: [SignInNews?] = []
    /// The indices of the attempts that are not reported yet and may still end.
    private var places: [UInt64: Int] = [:]
    private var lastNumber: UInt64 = 0
    private var invalid: [SignInFailures.Key: UInt16] = [:]
    private var refused: [SignInFailures.Key: UInt16] = [:]

    /// Records an attempt; returns the verdict with its number.
    mutating func begin(
        _ verdict: SignInFailures.Verdict,
        of attempt: SignInAttempt
    ) -> SignInFailures.Verdict {
        guard case .mayTry(var attempt) = verdict else {
            if case .mustWait(_, _, isCounted: true) = verdict { Self.count(attempt.pair, in: &self.refused) }
            return verdict
        }
        if self.attempts.count < SignInNews.limit {
            self.lastNumber += 1
            attempt.number = self.lastNumber
            self.places[attempt.number] = self.attempts.count
            self.attempts.append(SignInNews(.begun, of: attempt))
        }
        return .mayTry(attempt)
    }

    mutating func succeed(_ attempt: SignInAttempt) {
        let isCounted = self.take(attempt)
        // The state of the other servers does not change.
        if attempt.isKnown, !attempt.hasFailed, !isCounted { return }
        guard self.attempts.count < SignInNews.limit else { return }
        var news = SignInNews(.succeeded, of: attempt)
        news.isCounted = isCounted
        self.attempts.append(news)
    }

    mutating func cancel(_ attempt: SignInAttempt) {
        guard self.take(attempt), self.attempts.count < SignInNews.limit else { return }
        self.attempts.append(SignInNews(.cancelled, of: attempt))
    }

    mutating func countInvalidCredentials(of address: SignInFailures.Key) {
        Self.count(address, in: &self.invalid)
    }

    /// Removes and returns all news, in the order of the events.
    mutating func take() -> [SignInNews] {
        defer {
            self.attempts.removeAll(keepingCapacity: true)
            self.places.removeAll(keepingCapacity: true)
            self.invalid.removeAll(keepingCapacity: true)
            self.refused.removeAll(keepingCapacity: true)
        }
        let invalid = self.invalid.map { address, count in
            var news = SignInNews(.invalid)
            (news.address, news.count) = (address, count)
            return news
        }
        let refused = self.refused.map { pair, count in
            var news = SignInNews(.refused)
            (news.pair, news.count) = (pair, count)
            return news
        }
        return self.attempts.compactMap(\.self) + invalid + refused
    }

    /// Removes an attempt that is not reported yet; `true` if it was reported.
    private mutating func take(_ attempt: SignInAttempt) -> Bool {
        // The list was full when the attempt began.
        if attempt.number == 0 { return false }
        guard let place = self.places.removeValue(forKey: attempt.number) else { return true }
        self.attempts[place] = nil
        return false
    }

    private static func count(_ key: SignInFailures.Key, in counts: inout [SignInFailures.Key: UInt16]) {
        guard counts.count < SignInNews.countLimit || counts[key] != nil else { return }
        let count = counts[key] ?? 0
        counts[key] = count == .max ? count : count + 1
    }
}

extension SignInNews {
    fileprivate init(_ kind: Kind, of attempt: SignInAttempt) {
        self.init(kind)
        self.account = attempt.account
        self.pair = attempt.pair
        self.address = attempt.address
        self.networks = attempt.networks.map {
            Network(width: UInt8($0.width.rawValue), address: $0.address, pair: $0.pair)
        }
        self.isKnown = attempt.isKnown
        self.isNew = attempt.isNew
        self.isUnderAttack = attempt.isUnderAttack
    }
}

extension SignInAttempt {
    /// An attempt that another server has reported, without its password: see
    /// `SignInFailures.unknownPassword`.
    init(_ news: SignInNews) {
        self.init(
            account: news.account,
            password: SignInFailures.unknownPassword,
            address: news.address,
            pair: news.pair,
            networks: news.networks.compactMap { network in
                Network.Width(rawValue: Int(network.width)).map {
                    Network(width: $0, address: network.address, pair: network.pair)
                }
            }
        )
        self.isKnown = news.isKnown
        self.isNew = news.isNew
        self.isUnderAttack = news.isUnderAttack
    }
}
