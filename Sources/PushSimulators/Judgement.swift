internal import Foundation

/// What a simulator answers, and what it thinks of the request.
struct Judgement {
    let response: SimulatedResponse
    let verdict: PushVerdict

    static func accepted(_ response: SimulatedResponse) -> Judgement {
        Judgement(response: response, verdict: .accepted)
    }

    static func refused(_ response: SimulatedResponse, reason: String) -> Judgement {
        Judgement(response: response, verdict: .refused(status: response.status, reason: reason))
    }

    /// The answer of a token endpoint that gives none, RFC 6749 section 5.2.
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
    /// Answers with what the script holds, or else with the judge's answer, and records either.
    func answer(_ request: SimulatedRequest, judge: (SimulatedRequest) -> Judgement) -> SimulatedResponse {
        let judgement: Judgement
        if let scripted = self.takeScripted() {
            judgement = Judgement(response: scripted, verdict: .scripted(status: scripted.status))
        } else {
            judgement = judge(request)
        }
        self.record(ReceivedPush(request: request, verdict: judgement.verdict))
        return judgement.response
    }
}
