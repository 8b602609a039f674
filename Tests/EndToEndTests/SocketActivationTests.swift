import Foundation
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Listening sockets that the daemon inherits from the process that starts it, such as systemd.
@Suite(.timeLimit(.minutes(5))) struct SocketActivationTests {
    @Test func aClientThatConnectsBetweenDaemonsIsAnsweredByTheNext() async throws {
        let folder = try TemporaryFolder()
        let socket = try HeldSocket()
        let url = try #require(URL(string: "http://127.0.0.1:\(socket.port)/readyz"))
        for _ in 0..<3 {
            async let early = URLSession.shared.data(from: url)
            let daemon = try await Daemon(in: folder, on: socket)
            let (data, response) = try await early
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(String(decoding: data, as: UTF8.self) == #"{"Status":"ready"}"#)
            #expect(await daemon.terminate() == 0)
        }
    }

    @Test func aDescriptorThatDoesNotListenIsRefused() async throws {
        let folder = try TemporaryFolder()
        let ended = try await ChildProcess(
            "/bin/sh",
            // Descriptor 3 is `/dev/null`, not a socket.
            ["-c", #"LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve 3</dev/null"#, Daemon.executable],
            in: folder.path
        ).end()
        #expect(ended.code == 78)
        #expect(ended.errors.hasPrefix("sealpost: LISTEN_FDS: descriptor 3 is not a listening stream socket: "))
        // The first line is the error, and the second line names the configuration.
        #expect(ended.errors.filter(\.isNewline).count == 2)
    }

    @Test(arguments: [
        ([:], 0..<0),
        (["LISTEN_PID": "7", "LISTEN_FDS": "1"], 3..<4),
        (["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "a:b"], 3..<5),
        (["LISTEN_PID": "7", "LISTEN_FDS": "0"], 3..<3),
        // The variables are not for this process: `LISTEN_PID` is another process's id, or one of
        // the variables is missing.
        (["LISTEN_PID": "8", "LISTEN_FDS": "1"], 0..<0),
        (["LISTEN_FDS": "1"], 0..<0),
        (["LISTEN_PID": "7"], 0..<0),
    ])
    func theVariablesApplyOnlyToTheNamedProcess(environment: [String: String], descriptors: Range<Int32>) throws {
        #expect(try SocketActivation.descriptors(in: environment, of: 7) == descriptors)
    }

    @Test(arguments: [
        (["LISTEN_PID": "seven", "LISTEN_FDS": "1"], "LISTEN_PID"),
        (["LISTEN_PID": "0", "LISTEN_FDS": "1"], "LISTEN_PID"),
        (["LISTEN_PID": "7", "LISTEN_FDS": ""], "LISTEN_FDS"), (["LISTEN_PID": "7", "LISTEN_FDS": "-1"], "LISTEN_FDS"),
        (["LISTEN_PID": "7", "LISTEN_FDS": "2147483645"], "LISTEN_FDS"),
        (["LISTEN_PID": "7", "LISTEN_FDS": "99999999999"], "LISTEN_FDS"),
    ])
    func invalidVariablesAreNamed(environment: [String: String], name: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try SocketActivation.descriptors(in: environment, of: 7)
        }
        #expect(error?.description.hasPrefix(name) == true)
    }
}
