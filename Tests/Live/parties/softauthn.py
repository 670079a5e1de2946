"""A software authenticator and its browser on PyPI's fido2: answers WebAuthn options. Private keys are kept in plain text."""
import secrets
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from fido2.cose import ES256, RS256
from fido2.utils import sha256, websafe_encode
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
