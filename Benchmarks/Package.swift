// swift-tools-version: 6.2
import PackageDescription

// The peers that Sealpost is measured against, none of which is in the product, and its HTTP server without the rest of
// it. The server's rooms are links to their sources, because they show themselves only within one package.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "hummingbird-hello",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
            ]
        ),
        .systemLibrary(name: "CEpoll"),
        .target(name: "CivilTime"),
        .target(name: "Reactor", dependencies: ["CEpoll", .product(name: "HeapModule", package: "swift-collections")]),
        .target(
            name: "SocketHTTP",
            dependencies: ["CivilTime", "Reactor", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("ExistentialAny")]
        ),
        .executableTarget(name: "sockethttp-hello", dependencies: ["Reactor", "SocketHTTP"]),
    ]
)
