internal import CCurl
internal import Glibc

/// The library as a whole.
enum Libcurl {
    private static let started: Bool = {
        // Without signals libcurl does not guard its writes, and a peer that hangs up would end the process.
        signal(SIGPIPE, SIG_IGN)
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// Prepares the process; again and again is fine.
    static func start() {
        precondition(self.started, "libcurl could not be prepared")
    }
}
