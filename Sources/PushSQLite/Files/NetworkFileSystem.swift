internal import Foundation
internal import Glibc

/// A file system that several machines may use at the same time.
///
/// The locks and the shared memory of SQLite work only on one machine. On such a file system,
/// servers on two machines could write the same database, and destroy it.
struct NetworkFileSystem: Equatable {
    /// The type of the file system in the kernel's spelling, such as `nfs4`.
    let type: String

    /// 9p and virtiofs are for folders of a virtual machine's host. The types of FUSE contain the
    /// name of their program.
    private static let types: Set = [
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fuse.blobfuse2", "fuse.ceph-fuse", "fuse.davfs2",
        "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.grpcfuse", "fuse.juicefs", "fuse.mount-s3",
        "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2",
        "orangefs", "prl_fs", "smb3", "vboxsf", "virtiofs", "vmhgfs",
    ]

    /// The network file system that contains a file; `nil` if the file system is local or unknown.
    init?(of path: String) {
        var url = URL(fileURLWithPath: path)
        var status = stat()
        // Before the first start, the file and its folders may not exist. Then the nearest
        // existing folder counts.
        while stat(url.path, &status) != 0 {
            guard url.pathComponents.count > 1 else { return nil }
            url.deleteLastPathComponent()
        }
        // If /proc is not mounted, the type is unknown.
        guard let mounts = textOfKernel("/proc/self/mountinfo") else { return nil }
        self.init(ofDevice: UInt64(status.st_dev), in: mounts)
    }

    /// The network file system of a device, according to `mounts`, the text of
    /// /proc/self/mountinfo (proc_pid_mountinfo(5)); `nil` for another file system.
    init?(ofDevice device: UInt64, in mounts: String) {
        let (major, minor) = deviceNumbers(of: device)
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // A hyphen ends the optional fields, whose number varies.
            guard fields.count > 2, fields[2] == "\(major):\(minor)", let hyphen = fields.firstIndex(of: "-"),
                let type = fields[hyphen...].dropFirst().first
            else { continue }
            guard Self.types.contains(String(type)) else { return nil }
            self.type = String(type)
            return
        }
        return nil
    }
}
