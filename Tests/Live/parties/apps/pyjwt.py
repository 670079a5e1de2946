"""https://pyjwt.readthedocs.io/en/stable/usage.html#oidc-login-flow: the ID token of a plain code flow"""
import jwt
import setting
from plain import flow


def verify(tokens, metadata, keys, nonce):
    key = jwt.PyJWKClient(metadata["jwks_uri"]).get_signing_key_from_jwt(tokens["id_token"])
    data = jwt.decode_complete(
        tokens["id_token"], key=key, audience=setting.ID, issuer=setting.ISSUER, algorithms=metadata["id_token_signing_alg_values_supported"])
    claims, algorithm = data["payload"], jwt.get_algorithm_by_name(data["header"]["alg"])
    digest = algorithm.compute_hash_digest(tokens["access_token"].encode())
    assert jwt.utils.base64url_encode(digest[:len(digest) // 2]).decode() == claims["at_hash"] and claims["nonce"] == nonce
    return data["header"], claims


flow(verify)
