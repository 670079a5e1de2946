#!/usr/bin/env python3
"""Makes vectors.json: registrations and assertions of python-fido2 and cryptography, verified by Fido2Server before they are
written. Run it again only to change them: the keys are new each time.

  python3 Tests/HandstampWebAuthnTests/Independent/vectors.py > Tests/HandstampWebAuthnTests/Independent/vectors.json
"""
import importlib.metadata, json, secrets

from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fido2.cose import ES256, RS256
from fido2.server import Fido2Server
from fido2.utils import sha256, websafe_encode
from fido2.webauthn import (
    AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData, PublicKeyCredentialRpEntity, PublicKeyCredentialUserEntity)

ORIGIN, RP_ID = "https://login.example.com", "example.com"
CASES = [
    ("ES256", ES256, {"counter": 7}, {}),
    ("RS256", RS256, {}, {}),
    ("ES256, synchronized", ES256, {"synced": True}, {}),
    ("ES256, self attestation and extensions", ES256, {}, {"is_attested": True, "extensions": {"credProtect": 2, "hmac-secret": True}}),
    ("RS256, self attestation", RS256, {}, {"is_attested": True}),
]


class Passkey:
    def __init__(self, kind, counter=0, synced=False):
        self.kind, self.counter, self.synced, self.id = kind, counter, synced, secrets.token_bytes(32)
        self.key = ec.generate_private_key(ec.SECP256R1()) if kind == ES256 else rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def sign(self, message):
        return self.key.sign(message, *([ec.ECDSA(SHA256())] if self.kind == ES256 else [padding.PKCS1v15(), SHA256()]))

    def data(self, flags, *more):
        flag = AuthenticatorData.FLAG
        return AuthenticatorData.create(
            sha256(RP_ID.encode()), flags | flag.UP | flag.UV | (flag.BE | flag.BS if self.synced else 0), self.counter, *more)

    def response(self, **members):
        id, members = websafe_encode(self.id), {name: websafe_encode(value) if isinstance(value, bytes) else value for name, value in members.items()}
        return {"id": id, "rawId": id, "type": "public-key", "authenticatorAttachment": "platform", "clientExtensionResults": {}, "response": members}

    def create(self, options, is_attested=False, extensions=None):
        flag, public = AuthenticatorData.FLAG, self.key.public_key()
        data = self.data(flag.AT | (flag.ED if extensions else 0), AttestedCredentialData.create(
            bytes(16), self.id, self.kind.from_cryptography_key(public)), extensions)
        client = CollectedClientData.create("webauthn.create", options["challenge"], ORIGIN)
        statement = {"alg": self.kind.ALGORITHM, "sig": self.sign(data + client.hash)} if is_attested else {}
        self.user = options["user"]["id"]
        return self.response(
            clientDataJSON=client, attestationObject=AttestationObject.create("packed" if is_attested else "none", data, statement), authenticatorData=data,
            publicKey=public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), publicKeyAlgorithm=self.kind.ALGORITHM, transports=["internal"])

    def get(self, options):
        self.counter += not self.synced
        data, client = self.data(0), CollectedClientData.create("webauthn.get", options["challenge"], ORIGIN)
        return self.response(clientDataJSON=client, authenticatorData=data, signature=self.sign(data + client.hash), userHandle=self.user)


def vector(name, kind, kept, told):
    server, passkey = Fido2Server(PublicKeyCredentialRpEntity(name="Example", id=RP_ID), attestation="none"), Passkey(kind, **kept)
    handle = secrets.token_bytes(32)
    user = PublicKeyCredentialUserEntity(name="ada@example.com", id=handle, display_name="Ada")
    begun, state = server.register_begin(user, user_verification="required", challenge=secrets.token_bytes(32))
    registration = passkey.create(dict(begun)["publicKey"], **told)
    made = server.register_complete(state, registration)
    assert made.credential_data is not None
    asked, second = server.authenticate_begin(user_verification="required", challenge=secrets.token_bytes(32))
    assertion = passkey.get(dict(asked)["publicKey"])
    server.authenticate_complete(second, [made.credential_data], assertion)
    return {
        "name": name, "rpId": RP_ID, "origin": ORIGIN, "userHandle": websafe_encode(handle),
        "algorithm": made.credential_data.public_key.ALGORITHM,
        "registrationChallenge": state["challenge"], "registration": registration, "registrationCount": made.counter,
        "assertionChallenge": second["challenge"], "assertion": assertion, "assertionCount": passkey.counter, "synced": passkey.synced,
    }


if __name__ == "__main__":
    software = {name: importlib.metadata.version(name) for name in ("fido2", "cryptography")}
    print(json.dumps({"madeWith": software, "vectors": [vector(*case) for case in CASES]}, indent=1))
