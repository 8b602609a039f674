import Dispatch
import HTTPTypes
import PushAPI
import PushStore
import SocketHTTP
import Testing

@testable import PushServer

/// Lists for administrators, which are made apart from the loops.
@Suite(.timeLimit(.minutes(5))) struct ReportTests {
    @Test(arguments: [Paths.users, Paths.tokens, "/api/audit"])
    func aReportWaitsForItsThreadOrIsRefused(path: String) async throws {
        let fixture = try await ServerFixture()
        // Known from here on: what follows waits for nothing else.
        #expect(try await fixture.send(.get, path, user: "ada").status == .ok)
        let reports = fixture.reports
        // For the thread of the reports, which is there to be kept.
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { gate.signal() }
            // One more than may wait: its refusal is the first to be told.
            for _ in 0..<101 {
                group.addTask {
                    do {
                        try await reports.run { _ in
                            gate.wait()
                            gate.signal()
                        }
                        return true
                    } catch StoreError.busy {
                        return false
                    }
                }
            }
            #expect(try await group.next() == false)
            try await fixture.send(.get, path, user: "ada").expectProblem(.busy)
        }
        #expect(try await fixture.send(.get, path, user: "ada").status == .ok)
    }
}
