import Foundation
import PushTesting

/// A chain of proxies between one port for clients and one daemon.
actor ProxyChain {
    nonisolated let port: UInt16
    private let upstream: String
    private let folder: String
    private var processes: [ChildProcess] = []

    init(port: UInt16, upstream: String, folder: String) {
        self.port = port
        self.upstream = upstream
        self.folder = folder
    }

    /// Stops the running proxies and starts others. Clients connect to the first of them.
    func replace(with layers: [Site.Layer]) async throws {
        await self.stop()
        var upstream = self.upstream
        for (number, layer) in layers.enumerated().reversed() {
            let port = number == 0 ? self.port : try QuickStartTests.freePort()
            let own = number == layers.count - 1 ? self.folder : "\(self.folder)/layer-\(number)"
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            try await self.start(layer, ["127.0.0.1:\(port)", upstream, own])
            upstream = "127.0.0.1:\(port)"
        }
    }

    func stop() async {
        for process in self.processes.reversed() {
            process.signal(SIGTERM)
            _ = await process.end()
        }
        self.processes = []
    }

    private func start(_ layer: Site.Layer, _ arguments: [String]) async throws {
        let file = layer.file.map { [Scripts.folder.appending(path: $0).standardizedFileURL.path] } ?? []
        let process = try Scripts.start(
            "proxy",
            [layer.proxy.rawValue] + arguments + file,
            environment: ["HOW": layer.how]
        )
        let said = await process.errors(until: layer.proxy.notice)
        guard said.contains(layer.proxy.notice) else {
            // The proxy has ended by itself.
            _ = await process.end()
            throw NotStarted(layer: layer, said: said)
        }
        self.processes.append(process)
    }

    /// A proxy that did not start, and its output.
    private struct NotStarted: Error {
        let layer: Site.Layer
        let said: String
    }
}
