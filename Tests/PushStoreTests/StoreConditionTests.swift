import PushTesting
import Synchronization
import Testing

@testable import PushStore

/// Each failed operation must not make a line of the log.
@Suite struct StoreConditionTests {
    private static let (lost, down) = (StoreError.unusable(reason: "right"), StoreError.unavailable(reason: "down"))

    /// A failure at a second after the start; `nil` if the database is found usable then.
    private typealias Step = (second: Int, error: StoreError?)

    private func reports(_ steps: [Step]) -> [StoreEvent] {
        let events = Mutex<[StoreEvent]>([])
        let condition = StoreCondition { event in events.withLock { $0.append(event) } }
        let start = ContinuousClock.now
        for step in steps {
            let now = start + .seconds(step.second)
            if let error = step.error {
                condition.record(error, now: now)
            } else {
                condition.recordUsable(after: .seconds(10), now: now)
            }
        }
        return events.withLock { $0 }
    }

    @Test(arguments: [lost, down]) func anOutageIsReportedWhenItBeginsEachMinuteAndWhenItEnds(error: StoreError) {
        let steps = (0..<150).map { ($0, error) } + [(155, nil), (160, nil), (165, nil)]
        let counts = self.reports(steps).map { event in
            switch event {
            case .databaseUnusable("right", let count), .databaseUnavailable("down", let count): "fails \(count)"
            case .databaseUsable(let count): "ends \(count)"
            default: "\(event)"
            }
        }
        #expect(counts == ["fails 1", "fails 60", "fails 60", "ends 29"])
    }

    /// The operator must act only in the second case, so its line must not wait for a minute.
    @Test func aLostRightIsReportedAtOnceDuringAnOutage() {
        let events = self.reports([(0, Self.down), (1, Self.down), (2, Self.lost), (3, Self.down), (4, Self.lost)])
        #expect(
            events == [
                .databaseUnavailable(reason: "down", failures: 1), .databaseUnusable(reason: "right", failures: 2),
            ]
        )
    }

    @Test func onlyALostRightMakesTheStoreUnusable() {
        let condition = StoreCondition { _ in }
        condition.record(Self.down)
        #expect(condition.isOut && !condition.isUnusable)
        condition.record(Self.lost)
        #expect(condition.isOut && condition.isUnusable)
        condition.record(Self.down)
        #expect(condition.isUnusable)
    }

    /// `/readyz` is ready again from then on, so the log must say why, also on a busy server where
    /// some statements still fail.
    @Test func theEndOfAnUnusableDatabaseIsReportedDespiteOtherFailures() {
        let steps: [Step] = [
            (0, Self.lost), (8, Self.down), (9, nil), (10, nil), (11, Self.down), (20, nil), (21, nil),
        ]
        #expect(
            self.reports(steps) == [
                .databaseUnusable(reason: "right", failures: 1), .databaseUsable(failures: 1),
                .databaseUnavailable(reason: "down", failures: 1), .databaseUsable(failures: 0),
            ]
        )
    }
}
