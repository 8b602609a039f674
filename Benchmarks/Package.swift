// swift-tools-version: 6.2
import PackageDescription

// Peers that benchmarks compare Sealpost with, which the product does not contain, and its HTTP
// server alone. The modules here are links to Sealpost's sources, because package access ends with
// the package.
let room: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
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
        .target(name: "Bytes"),
        .target(name: "CivilTime", dependencies: ["Bytes"]),
        .target(name: "Reactor", dependencies: ["CEpoll", .product(name: "HeapModule", package: "swift-collections")]),
        .target(
            name: "SocketHTTP",
            dependencies: ["Bytes", "CivilTime", "Reactor", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("ExistentialAny")]
        ),
        .executableTarget(name: "sockethttp-hello", dependencies: ["Reactor", "SocketHTTP"]),

        // The outbox on PostgreSQL without the senders.
        .systemLibrary(name: "CArgon2"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CPostgreSQL"),
        .target(name: "CResources"),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: room),
        .target(
            name: "Migrations",
            dependencies: ["Cryptography"],
            resources: [.embedInCode("postgresql"), .embedInCode("sql")],
            swiftSettings: room
        ),
        .target(name: "PostgreSQL", dependencies: ["Bytes", "CPostgreSQL", "Reactor"], swiftSettings: room),
        .target(
            name: "PushCore",
            dependencies: ["Bytes", "CArgon2", "CResources", "CivilTime", "Cryptography"],
            exclude: ["CommonPasswords.txt"],
            swiftSettings: room
        ),
        .target(name: "PushStore", dependencies: ["PushCore"], swiftSettings: room),
        .target(
            name: "PushPostgreSQL",
            dependencies: ["Migrations", "PostgreSQL", "PushCore", "PushStore", "Reactor"],
            swiftSettings: room
        ),
        .executableTarget(name: "postgresql-outbox", dependencies: ["PushCore", "PushPostgreSQL", "PushStore"]),

        .executableTarget(
            name: "push-asynchttpclient",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        // In C, so that nothing but the library is measured, and the place to send to costs as little as can be.
        .executableTarget(name: "push-libcurl", linkerSettings: [.linkedLibrary("curl")]),
        .executableTarget(name: "herd-fetch"),
        .executableTarget(name: "sqlite-posts", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "push-sink",
            linkerSettings: [.linkedLibrary("nghttp2"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
    ]
)
