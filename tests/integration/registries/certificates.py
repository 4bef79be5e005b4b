"""A certificate authority of the test's own, and what it signs."""

import os
import ssl
import subprocess

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    def __init__(self, directory):
        self.directory = str(directory)
        self.certificate = self._path("ca.pem")
        self._openssl(
            "req", "-x509", *EC, "-subj", "/CN=test authority", "-days", "2",
            "-keyout", self._path("ca.key"), "-out", self.certificate,
        )  # fmt: skip

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _openssl(self, *arguments):
        subprocess.run(("openssl", *arguments), check=True, capture_output=True)

    def sign(self, name, subject="IP:127.0.0.1", kind=EC, days=2, usage=""):
        """Files of a certificate for that address or host name, and of its key.

        Without a `subject` it has a common name alone; `days` may be negative: it has expired.
        `usage` is the only purpose that it is good for, such as serverAuth.
        """
        certificate, key = self._path(f"{name}.pem"), self._path(f"{name}.key")
        request, extension = self._path(f"{name}.csr"), self._path(f"{name}.ext")
        self._openssl("req", *kind, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        with open(extension, "w") as file:
            file.write(f"subjectAltName={subject}\n" if subject else "")
            file.write(f"extendedKeyUsage={usage}\n" if usage else "")
        self._openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate,
            "-CAkey", self._path("ca.key"), "-CAcreateserial", "-days", str(days),
            "-extfile", extension, "-out", certificate,
        )  # fmt: skip
        return certificate, key

    def client_context(self, certificate=None, key=None):
        context = ssl.create_default_context(cafile=self.certificate)
        if certificate:
            context.load_cert_chain(certificate, key)
        return context

    def server_context(self, name, subject="IP:127.0.0.1"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.sign(name, subject))
        return context
