"""Keys to attack with: signatures, proofs of possession (RFC 9449), passkeys. The module `cryptography` comes with Authlib."""
import base64, hashlib, json, secrets, time

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from kit.web import base64url


class Key:
    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        point = self.private.public_key().public_numbers()
        self.point = [number.to_bytes(32, "big") for number in (point.x, point.y)]
        self.jwk = dict(crv="P-256", kty="EC", x=base64url(self.point[0]), y=base64url(self.point[1]))

    def sign(self, message):
        """A signature in DER."""
        return self.private.sign(message, ec.ECDSA(SHA256()))

    def token(self, header, payload):
        text = ".".join(base64url(json.dumps(part).encode()) for part in (header, payload))
        return text + "." + base64url(b"".join(number.to_bytes(32, "big") for number in decode_dss_signature(self.sign(text.encode()))))

    def proof(self, method, address, nonce, access_token=None):
        payload = dict(htm=method, htu=address, iat=int(time.time()), jti=secrets.token_urlsafe(12), nonce=nonce)
        if access_token:
            payload["ath"] = base64url(hashlib.sha256(access_token.encode()).digest())
        return self.token(dict(typ="dpop+jwt", alg="ES256", jwk=self.jwk), payload)


class Passkey(Key):
    """A passkey of a browser at an origin (WebAuthn Level 2)."""

    def __init__(self, origin):
        super().__init__()
        self.origin, self.id, self.count = origin, secrets.token_bytes(16), 0
        self.name = base64url(self.id)
        self.party = hashlib.sha256(origin.split("//")[1].split(":")[0].encode()).digest()
        # COSE, in CBOR: an EC2 key for ES256 on P-256, with x and y.
        self.cose = b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + self.point[0] + b"\x22\x58\x20" + self.point[1]

    def data(self, flags, is_verified):
        """Authenticator data: the user is there, and was recognized."""
        return self.party + bytes([flags | 1 | 4 * is_verified]) + self.count.to_bytes(4, "big")

    def answer(self, type, options, response, origin=None):
        client = json.dumps(dict(type=type, challenge=options["challenge"], origin=origin or self.origin)).encode()
        members = {name: base64url(value) for name, value in dict(response(client), clientDataJSON=client).items()}
        return json.dumps(dict(id=self.name, rawId=self.name, type="public-key", clientExtensionResults={}, response=members))

    def create(self, options, is_verified=True):
        """`RegistrationResponseJSON`."""
        self.user = options["user"]["id"]
        data = self.data(0x40, is_verified) + bytes(16) + b"\x00\x10" + self.id + self.cose
        length = bytes([0x58, len(data)]) if len(data) < 256 else b"\x59" + len(data).to_bytes(2, "big")
        text = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData" + length + data
        return self.answer("webauthn.create", options, lambda client: dict(attestationObject=text))

    def get(self, options, is_verified=True, origin=None):
        """`AuthenticationResponseJSON`."""
        self.count += 1
        data, user = self.data(0, is_verified), base64.urlsafe_b64decode(self.user + "==")
        return self.answer("webauthn.get", options, lambda client: dict(
            authenticatorData=data, signature=self.sign(data + hashlib.sha256(client).digest()), userHandle=user), origin)
