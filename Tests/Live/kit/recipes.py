"""The proxies' configurations in the documentation, tried with the proxies."""
import glob, os, pathlib, re, shutil, subprocess, tempfile


def nginx(folder, block):
    """`nginx -t`, with a certificate of its own, and on a socket: it opens what it listens on."""
    certificate, key, file = (f"{folder}/{name}" for name in ("certificate.pem", "key.pem", "nginx.conf"))
    if not os.path.exists(key):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test",
                        "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    block = re.sub(r"(ssl_certificate) .*;", rf"\1 {certificate};", block)
    block = re.sub(r"(ssl_certificate_key) .*;", rf"\1 {key};", block)
    block = block.replace("listen 443", f"listen unix:{folder}/socket")
    if not re.search(r"^server ", block, re.M):
        block = f"server {{\nlisten unix:{folder}/socket;\n{block}}}\n"
    pathlib.Path(file).write_text(f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{block}}}\n")
    return ["nginx", "-t", "-q", "-p", folder, "-c", file]


def caddy(folder, block):
    if not re.search(r"^\S+\.\S+ \{", block):
        block = f"http://127.0.0.1:8000 {{\n{block}}}\n"
    pathlib.Path(folder, "Caddyfile").write_text(block)
    return ["caddy", "adapt", "--config", folder + "/Caddyfile", "--adapter", "caddyfile"]


def refused():
    """What a proxy that is installed says of the configurations that it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        for path, proxy in ((path, proxy) for proxy in (nginx, caddy) if shutil.which(proxy.__name__) for path in sorted(glob.glob("docs/*.md"))):
            for block in re.findall(rf"^```{proxy.__name__}\n(.*?)^```", pathlib.Path(path).read_text(), re.M | re.S):
                outcome = subprocess.run(proxy(folder, block), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
                if outcome.returncode:
                    yield f"{path}: {outcome.stdout.strip()}"
