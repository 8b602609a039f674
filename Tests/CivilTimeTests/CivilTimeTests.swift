import CivilTime
import Glibc
import Testing

@Suite(.timeLimit(.minutes(5))) struct CivilTimeTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
        (784_111_777, "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "2000-02-29T00:00:00Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
        (4_107_542_399, "2100-02-28T23:59:59Z", "Sun, 28 Feb 2100 23:59:59 GMT"),
        (4_107_542_400, "2100-03-01T00:00:00Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
        (-1, "1969-12-31T23:59:59Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
    ])
    func timesAreWrittenAsRFC3339AndIMFFixdate(seconds: Int, rfc3339: String, imfFixdate: String) {
        let time = CivilTime(secondsSince1970: seconds)
        #expect(time.rfc3339 == rfc3339)
        #expect(time.imfFixdate == imfFixdate)
    }

    @Test(arguments: [
        (1970, 1, 1, 0, 0, 0, 0), (1994, 11, 6, 8, 49, 37, 784_111_777), (2000, 2, 29, 0, 0, 0, 951_782_400),
        (2100, 2, 28, 23, 59, 59, 4_107_542_399), (2016, 12, 31, 23, 59, 60, 1_483_228_800),
        (0, 1, 1, 0, 0, 0, -62_167_219_200), (9999, 12, 31, 23, 59, 59, 253_402_300_799),
    ])
    func aTimeFromItsPartsEqualsTheTimeFromItsSeconds(
        year: Int,
        month: Int,
        day: Int,
        hour: Int,
        minute: Int,
        second: Int,
        expected: Int
    ) {
        let time = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        #expect(time == CivilTime(secondsSince1970: expected))
        #expect(time?.secondsSince1970 == expected)
    }

    @Test(arguments: [
        [-1, 1, 1, 0, 0, 0], [10_000, 1, 1, 0, 0, 0], [2026, 0, 1, 0, 0, 0], [2026, 13, 1, 0, 0, 0],
        [2026, 1, 0, 0, 0, 0], [2026, 1, 32, 0, 0, 0], [2026, 4, 31, 0, 0, 0], [2026, 2, 29, 0, 0, 0],
        [2100, 2, 29, 0, 0, 0], [2026, 1, 1, -1, 0, 0], [2026, 1, 1, 24, 0, 0], [2026, 1, 1, 0, 60, 0],
        [2026, 1, 1, 0, 0, 61], [.max, 1, 1, 0, 0, 0], [2026, .max, .max, .max, .max, .max], [.min, 1, 1, 0, 0, 0],
    ])
    func impossibleDaysAndTimesAreRefused(parts: [Int]) {
        let (year, month, day) = (parts[0], parts[1], parts[2])
        let time = CivilTime(year: year, month: month, day: day, hour: parts[3], minute: parts[4], second: parts[5])
        #expect(time == nil)
    }

    @Test func datesAgreeWithTheSystemOverEightHundredYears() {
        for day in -146_097..<146_097 {
            var seconds = day * 86_400 + 3661
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let time = CivilTime(secondsSince1970: seconds)
            let own = [time.year, time.month, time.day, time.weekday, time.hour, time.minute, time.second]
            let system = [
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_wday, parts.tm_hour, parts.tm_min,
                parts.tm_sec,
            ]
            guard own == system.map(Int.init), time.secondsSince1970 == seconds else {
                Issue.record("\(seconds): \(own) and not \(system)")
                return
            }
        }
    }
}
