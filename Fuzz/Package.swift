// swift-tools-version: 6.2
import PackageDescription

// Builds the modules that have parsers with checks and instrumentation for libFuzzer. `Sources` has
// links to them.
let fuzzed: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    .unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"]),
]

func room(
    _ name: String,
    _ dependencies: [Target.Dependency],
    exclude: [String] = [],
    resources: [Resource] = []
) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: fuzzed)
}

let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let package = Package(
    name: "fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    ],
    targets: [
        .systemLibrary(name: "CArgon2"),
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CLibFuzzer"),
        .systemLibrary(name: "COpenSSL"),
        .target(name: "CResources"),
        .systemLibrary(name: "CZlib"),
        room("Bytes", []),
        room("CivilTime", ["Bytes"]),
        room("Cryptography", ["COpenSSL"]),
        room("HTTPSignatures", ["Bytes", "Cryptography"]),
        room("PushAPI", ["Bytes", "CivilTime"]),
        room(
            "PushClient",
            ["Bytes", "CCurl", "CivilTime", "HTTPSignatures", "PushAPI", "Cryptography"],
            resources: [.copy("PrivacyInfo.xcprivacy")]
        ),
        room(
            "PushCore",
            ["Bytes", "CArgon2", "CResources", "CivilTime", "Cryptography"],
            exclude: ["CommonPasswords.txt"]
        ),
        room(
            "PushServer",
            [
                "Bytes", "CResources", "CZlib", "CivilTime", "HTTPSignatures", "PushAPI", "PushCore", "PushStore",
                "Reactor", "SocketHTTP", "Cryptography", httpTypes, logging,
            ],
            exclude: ["Console/page", "openapi.json"]
        ),
        room("PushStore", ["PushCore"]),
        room("Reactor", ["CEpoll", heap]),
        room("SocketHTTP", ["Bytes", "CivilTime", "Reactor", httpTypes]),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "Bytes", "CLibFuzzer", "CivilTime", "HTTPSignatures", "PushAPI", "PushClient", "PushCore", "PushServer",
                "PushStore", "SocketHTTP", httpTypes,
            ],
            path: "Sources/Fuzz",
            exclude: ["CorpusTests.swift"],
            swiftSettings: fuzzed,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])]
        ),
    ]
)
