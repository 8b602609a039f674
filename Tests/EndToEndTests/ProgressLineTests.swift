import PushTesting
import Testing

@testable import sealpost

@Suite struct ProgressLineTests {
    private func line(_ done: Int, of total: Int, after elapsed: Duration, _ unit: ProgressLine.Unit = .bytes)
        -> ProgressLine
    {
        ProgressLine(title: "copying", unit: unit, total: total, done: done, elapsed: elapsed)
    }

    @Test(arguments: [
        (0, 100, Duration.zero, "copying [----------------------------------------]   0 %"),
        (50, 100, .milliseconds(499), "copying [####################--------------------]  50 %"),
        (3 << 20, 4 << 20, .seconds(3), "copying [##############################----------]  75 %  1 MiB/s  0:01 left"),
        (1, 4000, .seconds(1), "copying [----------------------------------------]   0 %  1 B/s  1:06:39 left"),
        (1, 301, .seconds(1), "copying [----------------------------------------]   0 %  1 B/s  5:00 left"),
        (100, 100, .seconds(2), "copying [########################################] 100 %  50 B/s"),
        // The total is only an estimate, so more can be done than the total.
        (200, 100, .seconds(2), "copying [########################################] 100 %  100 B/s"),
        (5, 0, .seconds(1), "copying [----------------------------------------]   0 %  5 B/s"),
    ])
    func theBarShowsShareRateAndTimeLeft(done: Int, total: Int, elapsed: Duration, text: String) {
        #expect(self.line(done, of: total, after: elapsed).text(columns: 200) == text)
    }

    @Test func theRateOfRowsIsShownInRows() {
        #expect(
            self.line(5000, of: 10_000, after: .seconds(2), .rows).text(columns: 99).hasSuffix(
                " 50 %  2500 rows/s  0:02 left"
            )
        )
    }

    @Test(arguments: [0, 1, 10, 29, 30, 44, 45, 60, 80, 200]) func theBarFitsIntoTheTerminal(columns: Int) {
        let text = self.line(1, of: Int.max, after: .seconds(1)).text(columns: columns)
        #expect(text.count < max(1, columns))
        #expect(self.line(.max, of: .max, after: .seconds(900_000)).text(columns: columns).count < max(1, columns))
    }
}
