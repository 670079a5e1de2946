"""Password hashes by others' programs: the vectors of MadeHashes.swift. Not run by the tests.

    /usr/bin/python3 password_hashes.py

Needs python3-bcrypt, python3-passlib, python3-django, python3-argon2, nodejs and openssl. Each line of output is a program, a password and the
encoded hash, separated by tabs.
"""
import base64
import hashlib
import json
import subprocess

import argon2
import argon2.low_level
import bcrypt
import passlib.hash
from django.conf import settings

settings.configure()
from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher, PBKDF2SHA1PasswordHasher

PASSWORD = "correct horse café"


def unpadded(data):
    return base64.b64encode(data).decode().rstrip("=")


def show(program, encoded, password=PASSWORD):
    print(program, password, encoded if isinstance(encoded, str) else encoded.decode(), sep="\t")


def hash_bcrypt(password, prefix=b"2b"):
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4, prefix=prefix))


def django(hasher, digest):
    _, rounds, salt, key = hasher().encode(PASSWORD, "seasalt0pepper", 1000).split("$")
    key = base64.b64decode(key)
    return f"$pbkdf2-{digest}$i={rounds},l={len(key)}${unpadded(salt.encode())}${unpadded(key)}"


def passlib_pbkdf2():
    encoded = passlib.hash.pbkdf2_sha512.using(rounds=1000).hash(PASSWORD).replace(".", "+")
    _, _, rounds, salt, key = encoded.split("$")
    return f"$pbkdf2-sha512$i={rounds},l=64${salt}${key}"


def firebase():
    """The example of github.com/firebase/scrypt."""
    key = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
    salt, separator = "42xEC+ixf3L2lw==", "Bw=="
    derived = hashlib.scrypt(
        b"user1password", salt=base64.b64decode(salt) + base64.b64decode(separator), n=1 << 14, r=8, p=1, dklen=32,
        maxmem=64 << 20)
    sealed = subprocess.run(
        ["openssl", "enc", "-aes-256-ctr", "-K", derived.hex(), "-iv", "0" * 32], input=base64.b64decode(key),
        stdout=subprocess.PIPE, check=True).stdout
    return f"$firescrypt$ln=14,r=8,p=1${salt}${base64.b64encode(sealed).decode()}${separator}${key}"


NODE = """
const c = require('crypto'), salt = c.randomBytes(16), password = %s, text = x => Buffer.from(x).toString('base64');
const sha = (name, template, ...parts) =>
  `$${name}$pf=${text(template)}$${text(salt)}$${text(parts.reduce((h, p) => h.update(p), c.createHash(name)).digest())}`;
console.log([
  `$scrypt$ln=4096,r=8,p=2$${text(salt)}$${text(c.scryptSync(password, salt, 32, {N: 4096, r: 8, p: 2}))}`,
  `$pbkdf2-sha512$i=2000,l=64$${text(salt)}$${text(c.pbkdf2Sync(password, salt, 2000, 64, 'sha512'))}`,
  sha('sha256', '{SALT}:{PASSWORD}', salt, ':', password), sha('sha1', '{PASSWORD}{SALT}', password, salt),
  sha('sha512', '{PASSWORD}{SALT}', password, salt)].join('\\n'));
"""

show("python bcrypt", hash_bcrypt(PASSWORD))
show("python bcrypt 2a", hash_bcrypt(PASSWORD, b"2a"))
show("passlib bcrypt 2y", passlib.hash.bcrypt.using(rounds=4, ident="2y").hash(PASSWORD))
show("python bcrypt of 90 bytes", hash_bcrypt("0123456789" * 9), "0123456789" * 9)
show("python bcrypt of decomposed text", hash_bcrypt("cafe\u0301 soirée"), "cafe\u0301 soirée")
show("passlib argon2i", passlib.hash.argon2.using(type="I", memory_cost=64, rounds=2, parallelism=2).hash(PASSWORD))
show("argon2-cffi argon2id", argon2.PasswordHasher(time_cost=2, memory_cost=64, parallelism=2).hash(PASSWORD))
show("argon2-cffi of version 16", argon2.low_level.hash_secret(
    PASSWORD.encode(), b"somesaltsomesalt", 2, 64, 1, 32, argon2.low_level.Type.I, version=16))
hasher = Argon2PasswordHasher()
hasher.memory_cost = 64
show("Django argon2", hasher.encode(PASSWORD, "saltsaltsalt")[len("argon2"):])
show("Django pbkdf2_sha256", django(PBKDF2PasswordHasher, "sha256"))
show("Django pbkdf2_sha1", django(PBKDF2SHA1PasswordHasher, "sha1"))
show("passlib pbkdf2_sha512", passlib_pbkdf2())
show("passlib scrypt", passlib.hash.scrypt.using(rounds=10, block_size=8, parallelism=1).hash(PASSWORD))
made = subprocess.run(["node", "-e", NODE % json.dumps(PASSWORD)], stdout=subprocess.PIPE, check=True, text=True).stdout
for name, line in zip(["scrypt", "pbkdf2", "sha256", "sha1", "sha512"], made.split()):
    show("node " + name, line)
show("Firebase's published example", firebase(), "user1password")
