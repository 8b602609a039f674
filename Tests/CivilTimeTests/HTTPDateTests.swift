import CivilTime
import Glibc
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPDateTests {
    private let date = HTTPDate(seconds: 784_111_777)

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func allThreeFormatsAreRead(text: String) {
        #expect(HTTPDate(text) == self.date)
    }

    @Test(arguments: [
        ("Sun, 01-Jan-70 00:00:00 GMT", 0), ("Tuesday, 31-Dec-69 00:00:00 GMT", 3_155_673_600),
        ("Fri, 31 Dec 9999 23:59:60 GMT", 253_402_300_800), ("Sat, 1 Jan 2000 0:0:0 GMT", 946_684_800),
    ])
    func theEdgesOfTheFormatsAreRead(text: String, seconds: Int) {
        #expect(HTTPDate(text)?.seconds == seconds)
    }

    @Test func imfFixdateIsWritten() {
        #expect(self.date.description == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func datesAgreeWithStrftime() {
        for second in stride(from: 0, to: 8_000_000_000, by: 1_234_567) {
            var (time, fields) = (time_t(second), tm())
            gmtime_r(&time, &fields)
            let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
                strftime(buffer.baseAddress, 64, "%a, %d %b %Y %H:%M:%S GMT", &fields)
                return buffer.baseAddress.map { String(cString: $0) }
            }
            #expect(HTTPDate(seconds: second).description == text)
            #expect(text.flatMap(HTTPDate.init)?.seconds == second)
        }
    }

    @Test(arguments: [
        "", "yesterday", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nev 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Tue, 30 Feb 1999 00:00:00 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37:00 GMT", "Sun, 06 Nov 1994 08::37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT\u{301}", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    ])
    func invalidDatesAreRefused(text: String) {
        #expect(HTTPDate(text) == nil)
    }
}
