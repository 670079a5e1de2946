"""https://jose.authlib.org/en/guide/jwt/: the ID token of a plain code flow, verified with its own defaults"""
import setting
from joserfc import jwt
from joserfc.jwk import KeySet
from plain import flow


def verify(tokens, metadata, keys, nonce):
    token = jwt.decode(tokens["id_token"], KeySet.import_key_set(keys))
    jwt.JWTClaimsRegistry(
        iss=dict(essential=True, value=setting.ISSUER), aud=dict(essential=True, value=setting.ID), nonce=dict(essential=True, value=nonce)).validate(token.claims)
    return token.header, token.claims


flow(verify)
