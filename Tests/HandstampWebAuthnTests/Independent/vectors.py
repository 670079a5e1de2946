#!/usr/bin/env python3
"""Makes vectors.json: registrations and assertions of python-fido2 and cryptography, verified by Fido2Server before they are
written. Run it again only to change them: the keys are new each time.

  python3 Tests/HandstampWebAuthnTests/Independent/vectors.py > Tests/HandstampWebAuthnTests/Independent/vectors.json
"""

import importlib.metadata
import json
import os
import secrets
import sys

from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import PublicKeyCredentialRpEntity, PublicKeyCredentialUserEntity

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Live/parties"))
from softauthn import ALGORITHMS, Authenticator

ORIGIN, RP_ID = "https://login.example.com", "example.com"
CASES = [
    ("ES256", {"alg": ALGORITHMS["ES256"], "counter": 7}),
    ("RS256", {"alg": ALGORITHMS["RS256"], "counter": 0}),
    ("ES256, synchronized", {"alg": ALGORITHMS["ES256"], "synced": True}),
    ("ES256, self attestation and extensions",
     {"alg": ALGORITHMS["ES256"], "self_attestation": True, "extensions": {"credProtect": 2, "hmac-secret": True}}),
    ("RS256, self attestation", {"alg": ALGORITHMS["RS256"], "self_attestation": True}),
]


def vector(name, choices):
    server = Fido2Server(PublicKeyCredentialRpEntity(name="Example", id=RP_ID), attestation="none")
    handle = secrets.token_bytes(32)
    authenticator = Authenticator()
    user = PublicKeyCredentialUserEntity(name="ada@example.com", id=handle, display_name="Ada")
    begun, state = server.register_begin(user, user_verification="required", challenge=secrets.token_bytes(32))
    registration = authenticator.create(dict(begun)["publicKey"], ORIGIN, **choices)
    made = server.register_complete(state, registration)
    assert made.credential_data is not None
    asked, second = server.authenticate_begin(user_verification="required", challenge=secrets.token_bytes(32))
    assertion = authenticator.get(dict(asked)["publicKey"], ORIGIN)
    server.authenticate_complete(second, [made.credential_data], assertion)
    return {
        "name": name, "rpId": RP_ID, "origin": ORIGIN, "userHandle": websafe_encode(handle),
        "algorithm": made.credential_data.public_key.ALGORITHM,
        "registrationChallenge": state["challenge"], "registration": registration, "registrationCount": made.counter,
        "assertionChallenge": second["challenge"], "assertion": assertion,
        "assertionCount": authenticator.passkeys[-1]["counter"], "synced": authenticator.passkeys[-1]["synced"],
    }


if __name__ == "__main__":
    software = {name: importlib.metadata.version(name) for name in ("fido2", "cryptography")}
    print(json.dumps({"madeWith": software, "vectors": [vector(*case) for case in CASES]}, indent=1))
