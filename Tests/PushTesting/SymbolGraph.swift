internal import Foundation

/// The public symbols of a module, as the compiler recorded them when it built this process.
package struct SymbolGraph: Sendable {
    package struct Symbol: Sendable {
        /// The path of the symbol, such as `["NotificationItem", "createdAt"]`.
        package let path: [String]
        /// Whether the symbol has a documentation comment.
        package let isDocumented: Bool
    }

    /// The symbols in the source. Symbols that the compiler makes, such as `init(rawValue:)` of
    /// an enumeration, are left out.
    package let symbols: [Symbol]
    private let folder: TemporaryFolder
    private let module: String

    /// Extracts the graph of a module that is linked into this process.
    ///
    /// Throws `Failure` if the toolchain is not on the `PATH` or reports an error.
    package init(of module: String) async throws {
        self.module = module
        self.folder = try TemporaryFolder()
        let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        try await Self.run(
            ["swift", "symbolgraph-extract", "-module-name", module, "-I", build.appending(path: "Modules").path]
                + [
                    "-I", Repository.file("Sources/CCurl").path, "-I", Repository.file("Sources/COpenSSL").path,
                    "-target", Self.target, "-minimum-access-level", "public",
                ]
                + ["-skip-synthesized-members", "-skip-inherited-docs", "-output-dir", self.folder.path],
            in: self.folder
        )
        let file = URL(fileURLWithPath: self.folder.file("\(module).symbols.json"))
        let graph = try JSONDecoder().decode(Graph.self, from: Data(contentsOf: file))
        self.symbols = graph.symbols.filter { $0.location != nil }.map {
            Symbol(path: $0.pathComponents, isDocumented: $0.docComment?.lines.isEmpty == false)
        }
    }

    /// Makes DocC build pages from the documentation comments, and from the catalogue in
    /// `sources` if there is one.
    ///
    /// Throws `Failure` with DocC's text for each warning: for broken links, and for pages that
    /// hide another.
    package func convert(sources: String) async throws {
        let catalogue = Repository.file("\(sources)/\(self.module).docc").path
        let hasCatalogue = FileManager.default.fileExists(atPath: catalogue)
        try await Self.run(
            ["docc", "convert"] + (hasCatalogue ? [catalogue] : [])
                + ["--additional-symbol-graph-dir", self.folder.path, "--output-path", self.folder.file("pages")]
                + ["--fallback-display-name", self.module, "--fallback-bundle-identifier", self.module]
                + ["--warnings-as-errors"],
            in: self.folder
        )
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    // MARK: - Private

    private struct Graph: Decodable {
        struct Symbol: Decodable {
            struct Comment: Decodable {
                struct Line: Decodable {}

                let lines: [Line]
            }

            struct Location: Decodable {
                let uri: String
            }

            let pathComponents: [String]
            let docComment: Comment?
            let location: Location?
        }

        let symbols: [Symbol]
    }

    #if arch(arm64)
        private static let target = "aarch64-unknown-linux-gnu"
    #else
        private static let target = "x86_64-unknown-linux-gnu"
    #endif

    private static func run(_ arguments: [String], in folder: TemporaryFolder) async throws {
        let environment = ProcessInfo.processInfo.environment.filter { ["PATH", "HOME"].contains($0.key) }
        let ended = try await ChildProcess("/usr/bin/env", arguments, in: folder.path, environment: environment).end()
        guard ended.code == 0 else {
            throw Failure(description: "\(arguments[0]) ended with \(ended.code): \(ended.output)\(ended.errors)")
        }
    }
}
