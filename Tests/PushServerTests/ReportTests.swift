import Dispatch
import HTTPTypes
import PushAPI
import PushStore
import SocketHTTP
import Testing

@testable import PushServer

/// The lists for administrators. A separate thread makes them.
@Suite(.timeLimit(.minutes(5))) struct ReportTests {
    @Test(arguments: [Paths.users, Paths.tokens, "/api/audit"])
    func aReportWaitsForItsThreadOrIsRefused(path: String) async throws {
        let fixture = try await ServerFixture()
        // This request puts ada's password into the server's cache. Later requests therefore wait
        // only for the thread of the reports.
        #expect(try await fixture.send(.get, path, user: "ada").status == .ok)
        let reports = fixture.reports
        // The semaphore blocks the thread of the reports on purpose: the test needs a busy thread.
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { gate.signal() }
            // The test sends one request more than the number that may wait. The first answer is
            // therefore a refusal.
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
