internal import CurlHTTP
internal import PushCore
internal import Synchronization

/// Calls hosts that devices have named and that match only a wildcard, within the limits of
/// `HostTrials`.
final class NamedHosts: Sendable {
    private static let pause = Duration.milliseconds(20)

    // A lock protects the trials, because the calls of a lane may run on several threads, and each
    // use is short.
    private let trials: Mutex<HostTrials>

    /// `limit` is the largest number of concurrent calls to hosts that have not answered yet.
    init(limit: Int) {
        self.trials = Mutex(HostTrials(limit: limit))
    }

    /// Sends a request if its host may be called; otherwise throws `deviceBusy`.
    func answer(
        to request: OutboundRequest,
        at pattern: HostPattern,
        by client: HTTPClient
    ) async throws(SendFailure) -> OutboundResponse {
        let host = request.url.host
        let isTrial = try await self.begin(host)
        defer { if isTrial { self.trials.withLock { $0.endTrial(host) } } }
        let start = ContinuousClock.now
        do throws(OutboundError) {
            let response = try await client.send(request)
            self.trials.withLock { $0.recordAnswer(of: host, after: start.duration(to: .now)) }
            return response
        } catch {
            if error.isSilence { self.trials.withLock { $0.recordSilence(of: host, now: .now) } }
            throw SendFailure(error, at: pattern)
        }
    }

    /// Waits until the host may be called. Returns whether the call is a trial: a call to a host
    /// that has not answered yet.
    private func begin(_ host: String) async throws(SendFailure) -> Bool {
        while true {
            switch self.trials.withLock({ $0.admit(host, now: .now) }) {
            case .go: return false
            case .trial: return true
            case .wait:
                // This wait ends within `HostTrials.timeout`. Cancellation ends the sleep early,
                // and with it the call.
                if (try? await Task.sleep(for: Self.pause)) == nil { throw .unavailable(reason: "cancelled") }
            case .leaveAlone(let time):
                throw .deviceBusy(reason: "the host does not answer", retryAfter: time)
            }
        }
    }
}

extension OutboundError {
    /// Whether the host has failed to answer; `false` if it was not called.
    fileprivate var isSilence: Bool {
        switch self {
        case .couldNotConnect, .tls, .timedOut, .interrupted, .responseTooLarge: true
        case .badRequest, .hostNotAllowed, .refusedAddress, .overloaded, .cancelled, .closed: false
        }
    }
}
