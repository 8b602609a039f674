// swift-tools-version: 6.2
import PackageDescription

// The peers that Sealpost is measured against; none of them is in the product.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1")
    ],
    targets: [
        .executableTarget(
            name: "hummingbird-hello",
            dependencies: [.product(name: "Hummingbird", package: "hummingbird")]
        )
    ]
)
