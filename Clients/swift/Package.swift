// swift-tools-version: 6.2
import PackageDescription

// The libraries for apps, without the server: no dependencies, and links to the sources.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
/// Apple's systems have CryptoKit.
let cryptography: Target.Dependency = .target(name: "Cryptography", condition: .when(platforms: [.linux]))
/// Apple's systems have a URLSession that needs no replacement.
let curl: Target.Dependency = .target(name: "CCurl", condition: .when(platforms: [.linux]))

func room(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

let package = Package(
    name: "sealpost-client",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .visionOS(.v1), .watchOS(.v9)],
    products: [
        .library(name: "PushClient", targets: ["PushClient"]),
        .library(name: "PushClientTesting", targets: ["PushClientTesting"]),
    ],
    targets: [
        room("Bytes", []),
        room("CivilTime", ["Bytes"]),
        room("HTTPSignatures", ["Bytes", cryptography]),
        room("PushAPI", ["Bytes", "CivilTime"]),
        room(
            "PushClient",
            ["Bytes", "CivilTime", "HTTPSignatures", "PushAPI", cryptography, curl],
            resources: [.copy("PrivacyInfo.xcprivacy")]
        ),
        room("PushClientTesting", ["HTTPSignatures", "PushAPI", "PushClient"]),
    ]
)

#if os(Linux)
    package.targets += [
        .systemLibrary(name: "CCurl"), .systemLibrary(name: "COpenSSL"), room("Cryptography", ["COpenSSL"]),
    ]
#endif
