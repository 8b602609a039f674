import Foundation
import Glibc
import PushTesting
import Reactor
import Testing

@testable import PushApplication

/// The daemon's messages to its service manager, by the protocol of sd_notify(3).
@Suite(.timeLimit(.minutes(5))) struct ServiceManagerTests {
    /// systemd gives up after `StartLimitBurst` starts within `StartLimitIntervalSec`. The server
    /// may have to wait longer, for example until PostgreSQL is up.
    @Test func theUnitRestartsTheServerAsLongAsItTakes() throws {
        let lines = try Repository.text(of: "config/sealpost.service").split(separator: "\n")
        func number(_ key: String) throws -> Int {
            let line = try #require(lines.first { $0.hasPrefix("\(key)=") })
            return try #require(Int(line.dropFirst(key.count + 1)))
        }
        #expect(try number("StartLimitBurst") * number("RestartSec") > number("StartLimitIntervalSec"))
    }

    @Test func theDaemonReportsReadinessWatchdogAndStopping() async throws {
        let folder = try TemporaryFolder()
        let socket = try NotifySocket(in: folder)
        let process = try ChildProcess(
            Daemon.executable,
            ["serve"],
            in: folder.path,
            environment: [
                "SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "300000",
            ]
        )
        var messages: [String] = []
        while !messages.contains("READY=1") || messages.count(where: { $0 == "WATCHDOG=1" }) < 3 {
            messages.append(try #require(socket.next()))
        }
        process.signal(SIGTERM)
        while messages.last != "STOPPING=1" { messages.append(try #require(socket.next())) }
        #expect(await process.end().code == 0)
        #expect(Set(messages) == ["READY=1", "WATCHDOG=1", "STOPPING=1"])
    }

    @Test func aBlockedEventLoopStopsTheWatchdogMessages() async throws {
        let folder = try TemporaryFolder()
        let socket = try NotifySocket(in: folder)
        let loops = try EventLoopGroup(count: 2)
        defer { loops.stop() }
        let manager = try #require(try ServiceManager(in: ["NOTIFY_SOCKET": socket.path], of: 7))
        let watchdog = WatchdogService(manager: manager, watchdogTimeout: .milliseconds(30), loops: loops)
        // The event loop is blocked until the test writes to the pipe.
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watchdog.run() }
            #expect(try await onThread { socket.next() } == "WATCHDOG=1")
            group.addTask(executorPreference: loops.loops[1]) {
                var byte: UInt8 = 0
                _ = read(reader, &byte, 1)
            }
            var told = 0
            while try await onThread({ socket.next(within: 2) }) != nil, told < 1000 { told += 1 }
            #expect(told < 1000, "the watchdog tells that it lives, whatever the loop does")
            _ = write(writer, "x", 1)
            #expect(try await onThread { socket.next() } == "WATCHDOG=1")
            group.cancelAll()
        }
        close(reader)
        close(writer)
    }

    @Test(
        arguments: [
            ([:], nil, nil), (["NOTIFY_SOCKET": "/run/x"], "/run/x", nil), (["NOTIFY_SOCKET": "@x"], "@x", nil),
            (["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "60000000"], "@x", 60),
            (["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"], "@x", 60),
            // The watchdog's variables are for another process, because `WATCHDOG_PID` is not this
            // process's id.
            (["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"], "@x", nil),
            (["WATCHDOG_USEC": "60000000"], nil, nil),
        ] as [([String: String], String?, Int64?)]
    )
    func theVariablesNameTheSocketAndTheWatchdogTimeout(environment: [String: String], socket: String?, seconds: Int64?)
        throws
    {
        let manager = try ServiceManager(in: environment, of: 7)
        #expect(manager?.socket == socket)
        #expect(manager?.watchdogTimeout == seconds.map { .seconds($0) })
    }

    @Test(arguments: [
        ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "run/x"], ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 107)],
        ["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "0"], ["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "-1"],
        ["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "99999999999999999999"],
    ])
    func invalidVariablesAreRefused(environment: [String: String]) {
        #expect(throws: ConfigurationError.self) { try ServiceManager(in: environment, of: 7) }
    }

    /// A missing manager does not end the daemon.
    @Test func aMissingServiceManagerIsIgnored() throws {
        let manager = try #require(try ServiceManager(in: ["NOTIFY_SOCKET": "/nowhere/notify"], of: 7))
        manager.notify("READY=1")
    }
}

/// The service manager's datagram socket, which receives the daemon's messages.
private final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32

    init(in folder: TemporaryFolder) throws {
        self.path = "\(folder.path)/notify"
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(self.descriptor >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(self.path.utf8)
        try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(self.descriptor) }

    /// Returns the next message; `nil` if none arrives in time.
    func next(within seconds: Int = 60) -> String? {
        var timeout = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = recv(self.descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
