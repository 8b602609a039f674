import SocketHTTP
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPDateTests {
    private let date = HTTPDate(seconds: 784_111_777)

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func allThreeFormatsAreRead(text: String) {
        #expect(HTTPDate(text) == self.date)
    }

    @Test func theFirstIsWritten() {
        #expect(self.date.description == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(arguments: [
        "", "yesterday", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nev 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    ])
    func whatIsNoDateIsNone(text: String) {
        #expect(HTTPDate(text) == nil)
    }
}
