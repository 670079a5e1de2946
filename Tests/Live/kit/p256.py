"""Just enough of ES256 to attack with: keys, signatures, proofs of possession (RFC 9449), passkeys. Neither fast nor constant in time."""
import base64, hashlib, json, secrets, time

from kit.web import base64url

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def double(point):
    x, y, z = point
    d, g = z * z % P, y * y % P
    b, a = x * g % P, 3 * (x - d) * (x + d) % P
    x3 = (a * a - 8 * b) % P
    return x3, (a * (4 * b - x3) - 8 * g * g) % P, 2 * y * z % P


def add(one, other):
    """Adds points in Jacobian coordinates that are neither equal nor opposite."""
    if not one[2]:
        return other
    z1, z2 = one[2] * one[2] % P, other[2] * other[2] % P
    u1, s1 = one[0] * z2 % P, one[1] * other[2] * z2 % P
    h, r = (other[0] * z1 - u1) % P, (other[1] * one[2] * z1 - s1) % P
    h2 = h * h % P
    h3, v = h * h2 % P, u1 * h2 % P
    x = (r * r - h3 - 2 * v) % P
    return x, (r * (v - x) - s1 * h3) % P, h * one[2] * other[2] % P


POWERS = [(*G, 1)]
while len(POWERS) < 256:
    POWERS.append(double(POWERS[-1]))


def multiple(number):
    """`number` times the generator."""
    point = (0, 1, 0)
    for bit, power in enumerate(POWERS):
        if number >> bit & 1:
            point = add(point, power)
    inverse = pow(point[2], -1, P)
    return point[0] * inverse**2 % P, point[1] * inverse**3 % P


def signature(secret, message):
    digest, k = int.from_bytes(hashlib.sha256(message).digest(), "big"), secrets.randbelow(N - 1) + 1
    r = multiple(k)[0] % N
    s = pow(k, -1, N) * (digest + r * secret) % N
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Key:
    def __init__(self):
        self.secret = secrets.randbelow(N - 1) + 1
        x, y = multiple(self.secret)
        self.jwk = dict(crv="P-256", kty="EC", x=base64url(x.to_bytes(32, "big")), y=base64url(y.to_bytes(32, "big")))

    def token(self, header, payload):
        text = ".".join(base64url(json.dumps(part).encode()) for part in (header, payload))
        return text + "." + base64url(signature(self.secret, text.encode()))

    def proof(self, method, address, nonce, access_token=None):
        payload = dict(htm=method, htu=address, iat=int(time.time()), jti=secrets.token_urlsafe(12), nonce=nonce)
        if access_token:
            payload["ath"] = base64url(hashlib.sha256(access_token.encode()).digest())
        return self.token(dict(typ="dpop+jwt", alg="ES256", jwk=self.jwk), payload)


def whole(number):
    """An integer in DER."""
    data = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return b"\x02" + bytes([len(data)]) + data


class Passkey(Key):
    """A passkey of a browser at an origin (WebAuthn Level 2)."""

    def __init__(self, origin):
        super().__init__()
        self.origin, self.id, self.count = origin, secrets.token_bytes(16), 0
        self.name = base64url(self.id)
        self.party = hashlib.sha256(origin.split("//")[1].split(":")[0].encode()).digest()

    def answer(self, type, options, response):
        client = json.dumps(dict(type=type, challenge=options["challenge"], origin=self.origin)).encode()
        members = {name: base64url(value) for name, value in dict(response(client), clientDataJSON=client).items()}
        return json.dumps(dict(id=self.name, rawId=self.name, type="public-key", clientExtensionResults={}, response=members))

    def create(self, options):
        """`RegistrationResponseJSON`."""
        self.user = options["user"]["id"]
        x, y = (base64.urlsafe_b64decode(self.jwk[name] + "=") for name in "xy")
        key = b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + x + b"\x22\x58\x20" + y
        data = self.party + b"\x45" + bytes(4) + bytes(16) + b"\x00\x10" + self.id + key
        text = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58" + bytes([len(data)]) + data
        return self.answer("webauthn.create", options, lambda client: dict(attestationObject=text))

    def get(self, options):
        """`AuthenticationResponseJSON`."""
        self.count += 1
        data = self.party + b"\x05" + self.count.to_bytes(4, "big")

        def response(client):
            pair = signature(self.secret, data + hashlib.sha256(client).digest())
            text = whole(int.from_bytes(pair[:32], "big")) + whole(int.from_bytes(pair[32:], "big"))
            return dict(authenticatorData=data, signature=b"\x30" + bytes([len(text)]) + text,
                        userHandle=base64.urlsafe_b64decode(self.user + "=" * (-len(self.user) % 4)))
        return self.answer("webauthn.get", options, response)
