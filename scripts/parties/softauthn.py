#!/usr/bin/env python3
"""A software authenticator and its browser, for tests: answers WebAuthn options on the command line.

  softauthn.py create --origin https://example.com --store passkeys.json < options.json > response.json
  softauthn.py get    --origin https://example.com --store passkeys.json < options.json > response.json

Reads PublicKeyCredentialCreationOptionsJSON or PublicKeyCredentialRequestOptionsJSON, alone or as the member "publicKey".
Prints RegistrationResponseJSON or AuthenticationResponseJSON. Private keys are kept in the store in plain text.
Needs fido2 2.x and cryptography of PyPI. Exit status: 0, or 1 with the name of the browser's error.
"""

import argparse
import json
import os
import secrets
import sys
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from fido2.cose import ES256, RS256
from fido2.utils import sha256, websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

FLAG = AuthenticatorData.FLAG
ALGORITHMS = {"ES256": ES256.ALGORITHM, "RS256": RS256.ALGORITHM}


class Refused(Exception):
    """What a browser would report; the name is that of its DOMException."""


class Authenticator:
    """Passkeys by RP ID. `passkeys` is JSON: a list of objects, the newest last."""

    def __init__(self, passkeys=None):
        self.passkeys = passkeys if passkeys is not None else []

    def create(self, options, origin, *, alg=None, uv=True, synced=False, counter=None, page=None,
               extensions=None, self_attestation=False):
        """Makes a passkey. `page` is the origin that is signed, where it should be another than `origin`."""
        rp_id = options["rp"].get("id") or urlsplit(origin).hostname
        check_origin(origin, rp_id)
        offered = [p["alg"] for p in options["pubKeyCredParams"] if p["type"] == "public-key"]
        usable = [a for a in offered if a in ALGORITHMS.values() and alg in (None, a)]
        if not usable:
            raise Refused("NotSupportedError: none of the algorithms")
        excluded = {c["id"] for c in options.get("excludeCredentials") or []}
        if any(k["id"] in excluded and k["rpId"] == rp_id for k in self.passkeys):
            raise Refused("InvalidStateError: this authenticator has a passkey already")
        key = new_key(usable[0])
        cose = (ES256 if usable[0] == ES256.ALGORITHM else RS256).from_cryptography_key(key.public_key())
        passkey_id = secrets.token_bytes(32)
        passkey = {
            "id": websafe_encode(passkey_id), "rpId": rp_id, "userHandle": options["user"]["id"],
            "userName": options["user"].get("name", ""), "alg": usable[0], "synced": synced,
            "counter": counter or 0,
            "key": key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                     serialization.NoEncryption()).decode(),
        }
        auth_data = AuthenticatorData.create(
            sha256(rp_id.encode()), flags(passkey, uv) | FLAG.AT | (FLAG.ED if extensions else 0), passkey["counter"],
            AttestedCredentialData.create(bytes(16), passkey_id, cose), extensions)
        client_data = CollectedClientData.create("webauthn.create", options["challenge"], page or origin)
        fmt, statement = "none", {}
        if self_attestation:
            fmt, statement = "packed", {"alg": usable[0], "sig": sign(key, auth_data + client_data.hash)}
        self.passkeys.append(passkey)
        return response(passkey, {
            "clientDataJSON": websafe_encode(client_data),
            "attestationObject": websafe_encode(AttestationObject.create(fmt, auth_data, statement)),
            "authenticatorData": websafe_encode(auth_data),
            "publicKey": websafe_encode(key.public_key().public_bytes(
                serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)),
            "publicKeyAlgorithm": usable[0],
            "transports": ["internal"],
        })

    def get(self, options, origin, *, alg=None, uv=True, counter=None, page=None):
        """Signs with the newest passkey that fits, and counts up."""
        rp_id = options.get("rpId") or urlsplit(origin).hostname
        check_origin(origin, rp_id)
        allowed = {c["id"] for c in options.get("allowCredentials") or []}
        usable = [k for k in self.passkeys
                  if k["rpId"] == rp_id and (not allowed or k["id"] in allowed) and alg in (None, k["alg"])]
        if not usable:
            raise Refused("NotAllowedError: no passkey for these options")
        passkey = usable[-1]
        if counter is not None:
            passkey["counter"] = counter
        elif not passkey["synced"]:
            passkey["counter"] += 1
        auth_data = AuthenticatorData.create(sha256(rp_id.encode()), flags(passkey, uv), passkey["counter"])
        client_data = CollectedClientData.create("webauthn.get", options["challenge"], page or origin)
        key = serialization.load_pem_private_key(passkey["key"].encode(), None)
        return response(passkey, {
            "clientDataJSON": websafe_encode(client_data),
            "authenticatorData": websafe_encode(auth_data),
            "signature": websafe_encode(sign(key, auth_data + client_data.hash)),
            "userHandle": passkey["userHandle"],
        })


def check_origin(origin, rp_id):
    host = urlsplit(origin).hostname or ""
    if host != rp_id and not host.endswith("." + rp_id):
        raise Refused(f"SecurityError: {origin} may not use the RP ID {rp_id}")


def new_key(alg):
    if alg == ES256.ALGORITHM:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def sign(key, message):
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(message, ec.ECDSA(hashes.SHA256()))
    return key.sign(message, padding.PKCS1v15(), hashes.SHA256())


def flags(passkey, uv):
    return FLAG.UP | (FLAG.UV if uv else 0) | (FLAG.BE | FLAG.BS if passkey["synced"] else 0)


def response(passkey, members):
    return {
        "id": passkey["id"], "rawId": passkey["id"], "type": "public-key", "authenticatorAttachment": "platform",
        "clientExtensionResults": {}, "response": members,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ceremony", choices=["create", "get"])
    parser.add_argument("--origin", required=True, help="the origin of the page")
    parser.add_argument("--store", required=True, help="file of the passkeys; made if it is missing")
    parser.add_argument("--options", default="-", help="file of the options (default: standard input)")
    parser.add_argument("--alg", choices=ALGORITHMS, help="make or use a passkey with this algorithm")
    parser.add_argument("--no-uv", action="store_true", help="answer without user verification")
    parser.add_argument("--wrong-origin", metavar="URL", help="sign this origin instead")
    parser.add_argument("--counter", type=int, metavar="N",
                        help="signature counter (default: 0, then one more at each use)")
    parser.add_argument("--synced", action="store_true", help="make a passkey that is backed up and has no counter")
    arguments = parser.parse_args()
    with sys.stdin if arguments.options == "-" else open(arguments.options) as file:
        options = json.load(file)
    options = options.get("publicKey", options)
    passkeys = []
    if os.path.exists(arguments.store):
        with open(arguments.store) as file:
            passkeys = json.load(file)
    authenticator = Authenticator(passkeys)
    choices = {"alg": ALGORITHMS.get(arguments.alg), "uv": not arguments.no_uv, "counter": arguments.counter,
               "page": arguments.wrong_origin}
    try:
        if arguments.ceremony == "create":
            answer = authenticator.create(options, arguments.origin, synced=arguments.synced, **choices)
        else:
            answer = authenticator.get(options, arguments.origin, **choices)
    except Refused as refusal:
        sys.exit(f"softauthn: {refusal}")
    text = json.dumps(passkeys, indent=1)
    with open(os.open(arguments.store + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.write(text + "\n")
    os.replace(arguments.store + ".new", arguments.store)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
