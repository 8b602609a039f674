import Foundation
import PushTesting
import Testing

@testable import PushSQLite

@Suite struct NetworkFileSystemTests {
    private static let mounts = """
        22 27 0:21 / /proc rw,relatime - proc proc rw
        27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
        40 27 0:52 / /srv/nfs rw,relatime shared:20 master:3 - nfs4 host:/srv rw,vers=4.2
        41 27 0:53 / /srv/smb rw - cifs //host/x rw
        42 27 0:54 / /host rw,relatime - 9p share rw
        43 27 0:55 / /host2 rw,relatime - virtiofs share rw
        44 27 0:56 / /srv/ssh rw - fuse.sshfs host:/ rw
        45 27 0:57 / /srv/overlay rw - fuse.fuse-overlayfs overlay rw
        46 27 4095:1048575 / /srv/far rw - ceph x rw
        47 27 0:58
        48 27 0:59 / /x rw -
        """

    @Test(
        arguments: [
            ((0, 52), "nfs4"), ((0, 53), "cifs"), ((0, 54), "9p"), ((0, 55), "virtiofs"), ((0, 56), "fuse.sshfs"),
            ((4095, 1_048_575), "ceph"),
            // Devices whose file system is local, and devices with no line or a malformed line in
            // the list of mounts.
            ((254, 0), nil), ((0, 57), nil), ((0, 60), nil), ((0, 58), nil), ((0, 59), nil),
        ] as [((major: UInt64, minor: UInt64), String?)]
    )
    func theTypeComesFromTheMountOfTheDevice(number: (major: UInt64, minor: UInt64), type: String?) {
        let device = number.major << 8 | number.minor & 0xFF | (number.minor & ~0xFF) << 12
        #expect(NetworkFileSystem(ofDevice: device, in: Self.mounts)?.type == type)
    }

    @Test func aLongFileOfTheKernelIsReadToItsEnd() throws {
        #expect(try #require(textOfKernel("/proc/self/maps")).utf8.count > 4096)
    }

    /// The check must also work if the file and its folder do not exist yet.
    @Test func aFolderOfThisMachineIsLocal() throws {
        let folder = try TemporaryFolder()
        #expect(SQLiteDatabase(path: folder.file("var/deep/sealpost.db")).fault == nil)
        #expect(SQLiteDatabase(path: "var/sealpost.db").fault == nil)
    }
}
