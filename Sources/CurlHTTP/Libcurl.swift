internal import CCurl
internal import Glibc

/// The state of libcurl that the whole process shares.
enum Libcurl {
    private static let started: Bool = {
        // The process must ignore SIGPIPE: with `CURLOPT_NOSIGNAL`, libcurl does not ignore it
        // during its writes, and a peer that closes a connection would end the process.
        signal(SIGPIPE, SIG_IGN)
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// Initialises libcurl for the process; may be called repeatedly.
    static func start() {
        precondition(self.started, "libcurl could not be prepared")
    }
}
