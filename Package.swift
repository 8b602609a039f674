// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// A module. ARCHITECTURE.md lists the permitted dependencies between modules.
func room(
    _ name: String,
    _ dependencies: [Target.Dependency],
    exclude: [String] = [],
    resources: [Resource] = []
) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// A product that only the server and its tests need. Apps switch its trait off, and do not
/// resolve its package.
func server(_ product: String, _ package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: ["Server"]))
}

let argumentParser: Target.Dependency = server("ArgumentParser", "swift-argument-parser")
/// Apple's systems have CryptoKit.
let cryptography: Target.Dependency = .target(name: "Cryptography", condition: .when(platforms: [.linux]))
/// Apple's systems have a URLSession that needs no replacement.
let curl: Target.Dependency = .target(name: "CCurl", condition: .when(platforms: [.linux]))
let heap: Target.Dependency = server("HeapModule", "swift-collections")
let httpTypes: Target.Dependency = server("HTTPTypes", "swift-http-types")
let lifecycle: Target.Dependency = server("ServiceLifecycle", "swift-service-lifecycle")
let logging: Target.Dependency = server("Logging", "swift-log")
let signals: Target.Dependency = server("UnixSignals", "swift-service-lifecycle")
let yaml: Target.Dependency = server("Yams", "Yams")

let package = Package(
    name: "sealpost",
    // scripts/apple-availability checks for macOS and iOS that each linked symbol is available.
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .visionOS(.v1), .watchOS(.v9)],
    products: [
        .executable(name: "sealpost", targets: ["sealpost"]),
        .executable(name: "sealpost-demo", targets: ["sealpost-demo"]),
        // Libraries that apps link.
        .library(name: "PushClient", targets: ["HTTPSignatures", "PushAPI", "PushClient"]),
        // A library that tests of apps link.
        .library(name: "PushClientTesting", targets: ["PushClientTesting"]),
    ],
    traits: [
        .default(enabledTraits: ["Server"]),
        .trait(name: "Server", description: "The server, which apps leave out with `traits: []`."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        .target(name: "CICUData"),
        // Embeds the files that `PushCore` and `PushServer` exclude.
        .target(name: "CResources"),
        .systemLibrary(name: "CArgon2"),
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CNghttp2"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CPostgreSQL"),
        .systemLibrary(name: "CPrctl"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CZlib"),

        .target(
            name: "Migrations",
            dependencies: [cryptography],
            path: "Migrations",
            resources: [.embedInCode("postgresql"), .embedInCode("sql")],
            swiftSettings: strict
        ),
        room("Bytes", []),
        room("CivilTime", ["Bytes"]),
        room("Cryptography", ["COpenSSL"]),
        room("CurlHTTP", ["Bytes", "CCurl", "Reactor"]),
        room("HTTPSignatures", ["Bytes", cryptography]),
        room("PostgreSQL", ["Bytes", "CPostgreSQL", "Reactor"]),
        room("PushAPI", ["Bytes", "CivilTime"]),
        room(
            "PushApplication",
            [
                "Bytes", "CivilTime", "CurlHTTP", "HTTPSignatures", "PushAPI", "PushCore", "PushDelivery", "PushSQLite",
                "PushSenders", "PushServer", "PushStore", "Reactor", "SocketHTTP", "SocketTLS", argumentParser,
                lifecycle, logging, signals, yaml,
            ]
        ),
        room(
            "PushClient",
            ["Bytes", "CivilTime", "HTTPSignatures", "PushAPI", cryptography, curl],
            resources: [.copy("PrivacyInfo.xcprivacy")]
        ),
        room("PushClientTesting", ["HTTPSignatures", "PushAPI", "PushClient"]),
        room(
            "PushCore",
            ["Bytes", "CArgon2", "CResources", "CivilTime", cryptography],
            exclude: ["CommonPasswords.txt"]
        ),
        room("PushDelivery", ["CivilTime", "PushCore", "PushStore", lifecycle, logging]),
        room("PushPostgreSQL", ["Migrations", "PostgreSQL", "PushCore", "PushStore", "Reactor"]),
        room("PushSenders", ["Bytes", "CivilTime", "CurlHTTP", "PushCore", "Reactor", cryptography]),
        room(
            "PushServer",
            [
                "Bytes", "CResources", "CZlib", "CivilTime", "HTTPSignatures", "PushAPI", "PushCore", "PushStore",
                "Reactor", "SocketHTTP", cryptography, httpTypes, logging,
            ],
            exclude: ["Console/page", "openapi.json"]
        ),
        room("PushSimulators", ["Bytes", "CNghttp2", "COpenSSL", "CivilTime", "Reactor", "SocketTLS"]),
        room("PushSQLite", ["CSQLite", "Migrations", "PushCore", "PushStore", "SQLite", cryptography]),
        room("PushStore", ["PushCore"]),
        room("Reactor", ["CEpoll", heap]),
        room("SQLite", ["CSQLite"]),
        room("SocketHTTP", ["Bytes", "CivilTime", "Reactor", httpTypes]),
        room("SocketTLS", ["COpenSSL", "Reactor"]),
        .executableTarget(
            name: "sealpost",
            dependencies: [
                "CICUData", "CPrctl", "CurlHTTP", "HTTPSignatures", "PushAPI", "PushApplication", "PushCore",
                "PushPostgreSQL",
                "PushSQLite", "PushServer", "PushStore", "Reactor", argumentParser, cryptography, logging, signals,
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "sealpost-demo",
            dependencies: [
                "CICUData", "PushAPI", "PushApplication", "PushClient", "PushCore", "PushSQLite", "PushSimulators",
                "PushStore", argumentParser, signals,
            ],
            swiftSettings: strict
        ),

        .target(
            name: "PushTesting",
            dependencies: [
                "CSQLite", "PostgreSQL", "PushCore", "PushPostgreSQL", "PushSQLite", "PushStore", "Reactor", "SQLite",
                logging,
            ],
            path: "Tests/PushTesting",
            swiftSettings: strict
        ),
        tests("BytesTests", ["Bytes"]),
        tests("CivilTimeTests", ["CivilTime"]),
        tests("CryptographyTests", ["Bytes", "COpenSSL", "Cryptography", "PushTesting"]),
        tests("CurlHTTPTests", ["CurlHTTP", "PushSimulators", "PushTesting", "Reactor"]),
        tests(
            "EndToEndTests",
            [
                "CurlHTTP", "HTTPSignatures", "PostgreSQL", "PushAPI", "PushApplication", "PushClient", "PushCore",
                "PushDelivery", "PushPostgreSQL", "PushSQLite", "PushServer", "PushSimulators", "PushStore",
                "PushTesting", "Reactor", "SocketHTTP", "sealpost", "sealpost-demo", cryptography, httpTypes, lifecycle,
                logging, yaml,
            ]
        ),
        // Runs the fuzzer's seeds once. The fuzzer itself is a package of its own, in `Fuzz`.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "Bytes", "CivilTime", "HTTPSignatures", "PushAPI", "PushClient", "PushCore", "PushServer", "PushStore",
                "SocketHTTP", httpTypes,
            ],
            path: "Fuzz/Sources/Fuzz",
            exclude: ["Fuzz.swift"],
            swiftSettings: strict
        ),
        tests("HTTPSignaturesTests", ["HTTPSignatures", "PushTesting", cryptography]),
        tests("PostgreSQLTests", ["CPostgreSQL", "PostgreSQL", "PushSimulators", "PushTesting", "Reactor"]),
        tests("PushAPITests", ["PushAPI"]),
        .target(
            name: "ExampleInbox",
            dependencies: ["PushAPI", "PushClient", cryptography],
            path: "examples/apple/Inbox",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ClientProgram",
            dependencies: ["HTTPSignatures", "PushAPI", "PushClient", cryptography],
            path: "Tests/ClientProgram",
            swiftSettings: strict
        ),
        // These two import only Foundation, Testing, Crypto and libraries that apps link, so that
        // they compile on Apple's systems, too.
        .target(
            name: "ClientPeers",
            dependencies: ["HTTPSignatures", "PushAPI", "PushClient"],
            path: "Tests/ClientPeers",
            swiftSettings: strict
        ),
        tests(
            "PortableClientTests",
            ["ClientPeers", "HTTPSignatures", "PushAPI", "PushClient", "PushClientTesting", cryptography]
        ),
        tests(
            "PushClientTests",
            [
                "ClientPeers", "ClientProgram", "ExampleInbox", "HTTPSignatures", "PushAPI", "PushClient",
                "PushClientTesting",
                "PushTesting", "Reactor", cryptography,
            ]
        ),
        tests("PushCoreTests", ["PushCore", "PushTesting", cryptography]),
        tests(
            "PushDeliveryTests",
            [
                "PushCore", "PushDelivery", "PushSQLite", "PushSenders", "PushSimulators", "PushStore", "PushTesting",
                "Reactor",
                lifecycle,
                logging,
            ]
        ),
        tests(
            "PushPostgreSQLTests",
            [
                "Migrations", "PostgreSQL", "PushCore", "PushDelivery", "PushPostgreSQL", "PushSQLite", "PushSenders",
                "PushStore", "PushTesting", "Reactor", "SQLite", "sealpost", logging,
            ]
        ),
        tests(
            "PushSendersTests",
            [
                "Bytes", "CurlHTTP", "PushCore", "PushSenders", "PushSimulators", "PushTesting", "Reactor",
                cryptography,
            ]
        ),
        tests(
            "PushServerTests",
            [
                "Bytes", "CivilTime", "HTTPSignatures", "PushAPI", "PushCore", "PushDelivery", "PushServer",
                "PushStore",
                "PushTesting", "Reactor", "SocketHTTP", cryptography, httpTypes, logging,
            ]
        ),
        tests("PushSimulatorsTests", ["Bytes", "COpenSSL", "PushSimulators", "PushTesting", "Reactor", "SocketTLS"]),
        tests("PushStoreTests", ["PushCore", "PushStore", "PushTesting"]),
        tests("PushSQLiteTests", ["PushCore", "PushSQLite", "PushStore", "PushTesting", "SQLite", cryptography]),
        tests("ReactorTests", ["PushTesting", "Reactor"]),
        tests("SQLiteTests", ["PushTesting", "SQLite"]),
        tests("SocketHTTPTests", ["Bytes", "PushTesting", "Reactor", "SocketHTTP", httpTypes]),
        tests(
            "SocketTLSTests",
            ["COpenSSL", "PushSimulators", "PushTesting", "Reactor", "SocketHTTP", "SocketTLS", httpTypes]
        ),
    ]
)

#if os(Linux)
    let hasServer = Context.environment["SEALPOST_CLIENT_ONLY"] == nil
    let ofLinux = ["CCurl", "COpenSSL", "Cryptography"]
#else
    let hasServer = false
    let ofLinux: [String] = []
#endif

// The server's modules compile on Linux only. Other systems, such as macOS, get the libraries that
// apps link, and their tests.
if !hasServer {
    let client = [
        "Bytes", "CivilTime", "ClientPeers", "ExampleInbox", "HTTPSignatures", "PortableClientTests", "PushAPI",
        "PushClient", "PushClientTesting",
    ]
    package.targets.removeAll { !(client + ofLinux).contains($0.name) }
    package.products.removeAll { $0.name.hasPrefix("sealpost") }
}
