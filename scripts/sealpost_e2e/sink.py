"""`push-sink`, which accepts pushes as APNs does and only counts them."""

import mmap
import struct

from sealpost_e2e import processes, tls

STREAMS = 300
CONFIGURATION = """
senders:
  apns: {{type: apns, keyFile: key.p8, keyID: ABC123DEFG, teamID: DEF123GHIJ, topic: com.example.app, envelope: background,
    endpoint: "{endpoint}", caFile: "{authorities}", streams: %d}}
""" % STREAMS


class Sink:
    """`push-sink` with its own key, and its count; the site's daemon is configured to send to it."""

    def __init__(self, site, program):
        certificate, key = tls.make_certificate(site.folder)
        port = processes.free_port()
        counters = site.folder / "counters"
        counters.write_bytes(bytes(24))
        self.process = site.start([program, str(port), certificate, key, counters], stderr=None)
        self.endpoint, self.authorities = f"https://localhost:{port}", certificate
        with open(counters, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 24)
        processes.wait_until(lambda: processes.listens(port), 30, "the sink", self.process)
        tls.make_signing_key(site.folder / "key.p8")
        site.configuration.write_text(CONFIGURATION.format(endpoint=self.endpoint, authorities=self.authorities))

    def reset(self):
        self.memory[:] = bytes(24)

    @property
    def count(self):
        return struct.unpack_from("=Q", self.memory)[0]

    @property
    def first(self):
        """The arrival of the first push, in seconds of the monotonic clock."""
        return struct.unpack_from("=Q", self.memory, 8)[0] / 1e9
