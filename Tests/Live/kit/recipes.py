"""The proxies' configurations in the documentation, tried with the proxies."""
import glob, os, re, shutil, subprocess, tempfile


def blocks(language):
    for path in sorted(glob.glob("docs/*.md")):
        with open(path, encoding="utf-8") as file:
            for block in re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.M | re.S):
                yield path, block


def tried(command, path):
    outcome = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return [f"{path}: {outcome.stdout.strip()}"] if outcome.returncode else []


def nginx(folder, path, block):
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
    with open(file, "w", encoding="utf-8") as made:
        made.write(f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{block}}}\n")
    return tried(["nginx", "-t", "-q", "-p", folder, "-c", file], path)


def caddy(folder, path, block):
    if not re.search(r"^\S+\.\S+ \{", block):
        block = f"http://127.0.0.1:8000 {{\n{block}}}\n"
    with open(folder + "/Caddyfile", "w", encoding="utf-8") as made:
        made.write(block)
    return tried(["caddy", "adapt", "--config", folder + "/Caddyfile", "--adapter", "caddyfile"], path)


def refused():
    """What a proxy that is installed says of the configurations that it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        for proxy in (nginx, caddy):
            if shutil.which(proxy.__name__):
                for path, block in blocks(proxy.__name__):
                    yield from proxy(folder, path, block)
