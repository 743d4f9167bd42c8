"""Certificates for the scenarios, made once per run by the openssl command."""
import os
import ssl
import subprocess
import tempfile

_folder = None


def folder():
    """Where the certificates of this run are. run.py sets SCENARIO_CERTS so that all processes share them."""
    global _folder
    if _folder is None:
        _folder = os.environ.get("SCENARIO_CERTS") or tempfile.mkdtemp(prefix="loligo-certs-")
    return _folder


def path(name):
    return os.path.join(folder(), name)


def openssl(*arguments):
    subprocess.run(("openssl",) + arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder())


def make_ca(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")


def make_certificate(name, ca, *names):
    alternatives = ",".join(("IP:" if n.replace(".", "").isdigit() or ":" in n else "DNS:") + n for n in names)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={names[0]}")
    with open(path(f"{name}.ext"), "w") as out:
        out.write(f"subjectAltName={alternatives}\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial",
            "-days", "30", "-out", f"{name}.pem", "-extfile", f"{name}.ext")
    with open(path(f"{name}.both.pem"), "w") as out:
        for part in (f"{name}.pem", f"{name}.key"):
            with open(path(part)) as source:
                out.write(source.read())


def make_all():
    os.makedirs(folder(), exist_ok=True)
    os.chmod(folder(), 0o755)
    make_ca("ca")
    make_ca("otherca")
    make_certificate("one", "ca", "one.test", "www.one.test", "127.0.0.1")
    make_certificate("two", "ca", "two.test", "www.two.test")
    make_certificate("origin", "ca", "origin.test", "127.0.0.1")
    make_certificate("stranger", "otherca", "origin.test", "127.0.0.1")
    for name in os.listdir(folder()):
        os.chmod(path(name), 0o644)


def server_context(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path(f"{name}.pem"), path(f"{name}.key"))
    return context
