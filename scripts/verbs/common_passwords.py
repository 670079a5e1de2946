"""Writes the list of common passwords from the one that Django ships (BSD-3-Clause, see NOTICE): the 20,000 most common.

Those shorter than the least length that the server accepts are left out."""
import glob, gzip, subprocess, sys, tempfile, textwrap, zipfile

DJANGO = "5.2.8"


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "django==" + DJANGO], check=True)
        packed = zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]).read("django/contrib/auth/common-passwords.txt.gz")
    words = sorted({w for w in gzip.decompress(packed).decode().split("\n") if len(w) >= 8 and not any(c.isspace() for c in w)})
    assert all(w == w.lower() for w in words)
    with open("Sources/CHandstampFiles/common-passwords.txt", "w") as file:
        file.write("\n".join(textwrap.wrap(" ".join(words), 120, break_long_words=False, break_on_hyphens=False)) + "\n")
    return 0
