"""https://python-jose.readthedocs.io/en/latest/jwt/: the ID token of a plain code flow"""
import setting
from jose import jwt
from plain import flow


def verify(tokens, metadata, keys, nonce):
    # Of keys of several kinds it reads none; its users choose by the ID, as https://auth0.com/docs/quickstart/backend/python shows it.
    key = next(key for key in keys["keys"] if key["kid"] == jwt.get_unverified_header(tokens["id_token"])["kid"])
    claims = jwt.decode(
        tokens["id_token"], key, algorithms=metadata["id_token_signing_alg_values_supported"], audience=setting.ID, issuer=setting.ISSUER,
        access_token=tokens["access_token"])
    assert claims["nonce"] == nonce
    return claims


flow(verify)
