import Foundation
import PushTesting
import Testing

/// What apps link uses nothing that is newer than the systems that it is for, as far as a machine with Linux can tell.
@Suite(.timeLimit(.minutes(5))) struct AvailabilityTests {
    @Test func whatAppsLinkIsInTheOldestSystemsOfThePackage() async throws {
        let ended = try await AppleScript.run("apple-availability", [])
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
        let manifest = try Repository.text(of: "Package.swift")
        #expect(manifest.contains("platforms: [.macOS(.v15), .iOS(.v18), "))
    }

    /// Everything else is of the trait `Server`, which apps leave out.
    @Test func whatAppsResolveIsSwiftCryptoAlone() throws {
        let manifest = try Repository.text(of: "Package.swift")
        let direct = manifest.matches(of: #/\.product\(name: "\w+", package: "([^"]+)"\)/#).map { String($0.output.1) }
        #expect(Set(direct) == ["swift-crypto"])
        #expect(manifest.contains(".product(name: product, package: package, condition: .when(traits: [\"Server\"]))"))
    }

    @Test func whatIsNewerThanTheFloorIsNamed() async throws {
        let ended = try await AppleScript.run("apple-availability", ["iOS=15.0", "macOS=12.0"])
        #expect(ended.code == 1)
        // Mutex is of iOS 18, and URL.appending(path:) of iOS 16.
        #expect(ended.output.contains("Mutex"))
        #expect(ended.output.contains("URL.appending(path:directoryHint:), which PushClient uses, is in iOS from 16"))
    }
}
