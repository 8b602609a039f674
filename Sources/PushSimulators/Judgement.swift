internal import CivilTime
internal import Foundation

/// A simulator's answer to a request, and whether the simulator has accepted or refused the
/// request.
struct Judgement {
    let response: SimulatedResponse
    let verdict: PushVerdict

    static func accepted(_ response: SimulatedResponse) -> Judgement {
        Judgement(response: response, verdict: .accepted)
    }

    static func refused(_ response: SimulatedResponse, reason: String) -> Judgement {
        Judgement(response: response, verdict: .refused(status: response.status, reason: reason))
    }

    /// A token endpoint's error answer, RFC 6749 section 5.2.
    static func oauthError(_ code: String, _ description: String, status: Int = 400) -> Judgement {
        self.refused(.json(["error": code, "error_description": description], status: status), reason: code)
    }
}

extension SimulatedResponse {
    /// An answer with a JSON body.
    static func json(_ value: some Encodable, status: Int = 200) -> SimulatedResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let body = try? encoder.encode(value) else {
            preconditionFailure("the simulators' answers are strings and numbers, which JSON can hold")
        }
        let type = HeaderField("Content-Type", "application/json; charset=UTF-8")
        return SimulatedResponse(status: status, headers: [type], body: Array(body))
    }
}

extension PushLog {
    /// Answers a request, and records it. If the test has queued an answer, that is the answer.
    /// Otherwise, the fault of a rule decides, or `judge` if no rule applies.
    func answer(_ request: SimulatedRequest, judge: (SimulatedRequest) -> Judgement) -> SimulatedResponse {
        let judgement: Judgement
        if let scripted = self.takeScripted() {
            judgement = Judgement(response: scripted, verdict: .scripted(status: scripted.status))
        } else if let fault = self.faults.faultOfRequest(for: { PushKey(request).device }) {
            judgement = self.apply(fault, to: request, judge: judge)
        } else {
            judgement = judge(request)
        }
        self.record(ReceivedPush(request: request, verdict: judgement.verdict))
        var response = judgement.response
        if !response.headers.contains(where: { $0.isNamed("date") }) {
            response.headers.append(HeaderField("Date", self.text(of: .dateAfter(seconds: 0))))
        }
        return response
    }

    private func apply(
        _ fault: Fault,
        to request: SimulatedRequest,
        judge: (SimulatedRequest) -> Judgement
    ) -> Judgement {
        if case .answer(let status, let retryAfter, let body) = fault {
            var response = SimulatedResponse(status: status, body: Array((body ?? "").utf8))
            if let retryAfter { response.headers.append(HeaderField("Retry-After", self.text(of: retryAfter))) }
            return Judgement(response: response, verdict: .faulted(fault))
        }
        var response = SimulatedResponse(status: 503)
        var judged: Int?
        if fault.handlesRequest {
            response = judge(request).response
            judged = response.status
            if fault == .badJSON { response.body = Array("{\"name\":".utf8) }
        }
        response.fault = fault
        return Judgement(response: response, verdict: .faulted(fault, judged: judged))
    }

    private func text(of retryAfter: Fault.RetryAfter) -> String {
        switch retryAfter {
        case .seconds(let seconds): return String(seconds)
        case .dateAfter(let seconds):
            return HTTPDate(seconds: Int(self.now().timeIntervalSince1970) + seconds).description
        }
    }
}
