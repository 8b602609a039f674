"""Certificates and keys for one run."""

import ssl

from sealpost_e2e import processes


def make_certificate(folder, *names):
    """A self-signed certificate for localhost and more names, and its key: `certificate.pem` and `key.pem`."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    processes.run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2,
        "-subj", "/CN=localhost", "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in ("localhost", *names)), "-keyout", key, "-out", certificate,
    )
    return certificate, key


def make_signing_key(path):
    """A key as APNs issues it."""
    processes.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


def serving(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def trusting():
    """A client's context that accepts any certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
