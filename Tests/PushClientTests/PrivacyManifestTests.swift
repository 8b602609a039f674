import Foundation
import PushTesting
import Testing

/// Tests `PrivacyInfo.xcprivacy`, the client library's privacy manifest. If the library uses an
/// interface for which Apple requires a reason, the manifest must give this reason.
struct PrivacyManifestTests {
    /// Apple's categories of interfaces that need a reason, with the names of the interfaces.
    private static let categories = [
        "FileTimestamp": [
            "creationDate", "modificationDate", "ModificationDate", "fileCreationDate", "getattrlist", "stat(",
        ],
        "SystemBootTime": ["systemUptime", "mach_absolute_time"],
        "DiskSpace": [
            "volumeAvailableCapacity", "volumeTotalCapacity", "systemFreeSize", "systemSize", "statfs", "statvfs",
        ],
        "ActiveKeyboards": ["activeInputModes"],
        "UserDefaults": ["UserDefaults"],
    ]

    private static func manifest() throws -> [String: Any] {
        let text = try Repository.text(of: "Sources/PushClient/PrivacyInfo.xcprivacy")
        let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
        return try #require(list as? [String: Any])
    }

    @Test func theManifestDeclaresNoTrackingAndNoCollectedData() throws {
        let manifest = try Self.manifest()
        #expect(
            Set(manifest.keys) == [
                "NSPrivacyTracking", "NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes",
                "NSPrivacyAccessedAPITypes",
            ]
        )
        #expect(manifest["NSPrivacyTracking"] as? Bool == false)
        #expect((manifest["NSPrivacyTrackingDomains"] as? [Any])?.isEmpty == true)
        #expect((manifest["NSPrivacyCollectedDataTypes"] as? [Any])?.isEmpty == true)
        #expect(try Repository.text(of: "Package.swift").contains(#"resources: [.copy("PrivacyInfo.xcprivacy")]"#))
    }

    /// The manifest must declare exactly the interfaces that the libraries of apps call.
    @Test func theManifestDeclaresEachAPIThatNeedsAReason() throws {
        let declared = try #require(try Self.manifest()["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
        let reasons = try declared.reduce(into: [String: [String]]()) { reasons, entry in
            let category = try #require(entry["NSPrivacyAccessedAPIType"] as? String)
            reasons[category] = try #require(entry["NSPrivacyAccessedAPITypeReasons"] as? [String])
        }
        var used: Set<String> = []
        for library in ["Bytes", "CivilTime", "HTTPSignatures", "PushAPI", "PushClient"] {
            let folder = Repository.file("Sources/\(library)")
            for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift")
            {
                let text = try Repository.text(of: "Sources/\(library)/\(path)")
                for (category, names) in Self.categories where names.contains(where: text.contains) {
                    used.insert("NSPrivacyAccessedAPICategory\(category)")
                }
            }
        }
        #expect(used == Set(reasons.keys))
        // The reason C617.1 stands for files of the app, of its group or of its iCloud container
        // that are not shown to anybody.
        #expect(reasons["NSPrivacyAccessedAPICategoryFileTimestamp"] == ["C617.1"])
    }
}
