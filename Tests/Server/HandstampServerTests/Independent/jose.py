"""Authlib's JOSE, as a counterpart of ours. For tests.

    python3 jose.py < questions

Each line of input is a question, each line of output its answer: a JSON object. A refusal has the member `refused`.
"""
import json, sys

from authlib.jose import JsonWebKey, JsonWebSignature


def verify(question):
    keys = JsonWebKey.import_key_set(question["keys"])

    def key(header, payload):
        return keys.find_by_kid(header["kid"])

    signed = JsonWebSignature(["ES256", "RS256"]).deserialize_compact(question["token"].encode(), key)
    return {"header": signed.header, "payload": json.loads(signed.payload)}


def sign(question):
    options = {"EC": "P-256", "RSA": question.get("bits", 2048)}
    kind = {"ES256": "EC", "RS256": "RSA"}[question["header"]["alg"]]
    key = JsonWebKey.generate_key(kind, options[kind], is_private=True)
    public = dict(key.as_dict(is_private=False), kid=key.thumbprint())
    header = dict(question["header"], kid=public["kid"])
    payload = json.dumps(question["payload"]).encode()
    token = JsonWebSignature().serialize_compact(header, payload, key).decode()
    return {"token": token, "key": public}


def thumbprint(question):
    return {"thumbprint": JsonWebKey.import_key(question["key"]).thumbprint()}


for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = {"verify": verify, "sign": sign, "thumbprint": thumbprint}[question["do"]](question)
    except Exception as fault:
        answer = {"refused": type(fault).__name__}
    print(json.dumps(answer), flush=True)
