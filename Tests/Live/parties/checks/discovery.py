"""The metadata and the keys (OpenID Connect Discovery 1.0)."""
import urllib.parse

from parties.bare import call
from parties.expect import check
from kit.web import require
from parties.provider import EMAIL


@check
def discovery_is_json(op):
    """Discovery 4.2: the answer is 200 with application/json."""
    kind = op.discovery.headers["Content-Type"]
    require(op.discovery.status == 200 and kind.split(";")[0] == "application/json", f"{op.discovery.status}, {kind}")


@check
def discovery_issuer(op):
    """Discovery 4.3: the issuer is the URL that the document was found by, without query and fragment."""
    issuer = op.metadata["issuer"]
    require(issuer == op.provider.issuer and not {"?", "#"} & set(issuer), issuer)


@check
def discovery_required_members(op):
    """Discovery 3: all required members are there, each with its type."""
    for name in ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"):
        require(isinstance(op.metadata.get(name), str), f"{name}: {op.metadata.get(name)}")
    for name in ("response_types_supported", "subject_types_supported", "id_token_signing_alg_values_supported"):
        require(isinstance(op.metadata.get(name), list), f"{name}: {op.metadata.get(name)}")


@check
def discovery_no_empty_members(op):
    """Discovery 4.2: no member is an empty array or null."""
    empty = [name for name, value in op.metadata.items() if value in ([], None, "")]
    require(not empty, f"empty: {empty}")


@check
def discovery_addresses(op):
    """Discovery 3: every URL is https, or here http on the loopback interface, and has no fragment."""
    for name, value in op.metadata.items():
        if name.endswith(("_endpoint", "_uri")):
            parts = urllib.parse.urlsplit(value)
            require(parts.scheme == "https" or (parts.scheme, parts.hostname) == ("http", "127.0.0.1"), f"{name}: {value}")
            require(not parts.fragment, f"{name}: {value}")


@check
def discovery_endpoints_answer(op):
    """Discovery 3: each endpoint answers, if only with its own error."""
    for name, value in op.metadata.items():
        if name.endswith("_endpoint"):
            reply = call("GET" if name in ("authorization_endpoint", "end_session_endpoint") else "POST", value)
            require(reply.status < 500 and reply.status not in (404, 405), f"{name}: {reply}")


@check
def discovery_response_types(op):
    """Discovery 3, RFC 8414 section 2: response_types_supported has code; response_modes_supported has query."""
    require("code" in op.metadata["response_types_supported"], f"{op.metadata['response_types_supported']}")
    require("query" in op.metadata.get("response_modes_supported", ["query"]), f"{op.metadata['response_modes_supported']}")


@check
def discovery_grant_types(op):
    """Discovery 3: grant_types_supported has authorization_code, and refresh_token since there are some."""
    missing = {"authorization_code", "refresh_token"} - set(op.metadata.get("grant_types_supported", []))
    require(not missing, f"without {missing}")


@check
def discovery_subject_types(op):
    """Discovery 3: subject_types_supported has nothing but public and pairwise."""
    require(set(op.metadata["subject_types_supported"]) <= {"public", "pairwise"}, f"{op.metadata['subject_types_supported']}")


@check
def discovery_signing_algorithms(op):
    """Discovery 3: id_token_signing_alg_values_supported has RS256, here also ES256, and never none."""
    known = op.metadata["id_token_signing_alg_values_supported"]
    require({"RS256", "ES256"} <= set(known) and "none" not in known, f"{known}")


@check
def discovery_scopes(op):
    """Discovery 3: scopes_supported has openid and what the clients may request."""
    missing = {"openid", "profile", "email", "offline_access"} - set(op.metadata.get("scopes_supported", []))
    require(not missing, f"without {missing}")


@check
def discovery_claims(op):
    """Discovery 3: claims_supported has the claims that the ID token and UserInfo have."""
    about = op.plain.about(op.first.access).json
    missing = (set(op.first.claims) | set(about)) - set(op.metadata.get("claims_supported", []))
    require(not missing, f"without {missing}")


@check
def discovery_client_authentication(op):
    """Discovery 3: token_endpoint_auth_methods_supported has client_secret_basic and client_secret_post."""
    known = op.metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    require({"client_secret_basic", "client_secret_post"} <= set(known), f"{known}")


@check
def discovery_pkce(op):
    """RFC 8414 section 2, RFC 9700 section 2.1.1: code_challenge_methods_supported has S256, not plain."""
    require(op.metadata.get("code_challenge_methods_supported") == ["S256"], f"{op.metadata.get('code_challenge_methods_supported')}")


@check
def discovery_request_parameters(op):
    """Discovery 3: request_uri_parameter_supported is false in so many words, since its default is true; the others are Booleans."""
    for name in ("request_parameter_supported", "request_uri_parameter_supported", "claims_parameter_supported"):
        require(op.metadata.get(name) is False, f"{name}: {op.metadata.get(name)}")


@check
def discovery_issuer_in_answers(op):
    """RFC 9207 section 3: authorization_response_iss_parameter_supported is true."""
    require(op.metadata.get("authorization_response_iss_parameter_supported") is True, "it is missing or false")


@check
def discovery_of_oauth(op):
    """RFC 8414 section 3: the same document is at /.well-known/oauth-authorization-server."""
    reply = call("GET", op.provider.issuer + "/.well-known/oauth-authorization-server")
    require(reply.status == 200 and reply.json == op.metadata, str(reply))


@check
def discovery_across_origins(op):
    """Fetch 3.2: pages of every origin may read the metadata and the keys, which are public."""
    for url in (op.provider.issuer + "/.well-known/openid-configuration", op.metadata["jwks_uri"]):
        origin = call("GET", url, {"Origin": "https://eve.example.org"}).headers["Access-Control-Allow-Origin"]
        require(origin == "*", f"{url}: Access-Control-Allow-Origin: {origin}")


@check
def webfinger(op):
    """Discovery 2: WebFinger is not there, or names the issuer."""
    query = urllib.parse.urlencode(dict(resource="acct:" + EMAIL, rel="http://openid.net/specs/connect/1.0/issuer"))
    reply = call("GET", f"{op.provider.issuer}/.well-known/webfinger?{query}")
    links = [link.get("href") for link in reply.json.get("links", [])]
    require(reply.status == 404 or reply.status == 200 and links == [op.provider.issuer], str(reply))


@check
def keys_are_public(op):
    """Discovery 3: the key set has no private and no symmetric key."""
    for key in op.keys.json["keys"]:
        secret = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"} & set(key)
        require(key["kty"] in ("RSA", "EC") and not secret, f"{key['kty']} with {secret}")


@check
def keys_have_names(op):
    """RFC 7517 section 4.5, Core 10.1: every key has a kid of its own, and says that it is for signatures, and by which algorithm."""
    keys = op.keys.json["keys"]
    require(len({key.get("kid") for key in keys} - {None, ""}) == len(keys), f"kid: {[key.get('kid') for key in keys]}")
    for key in keys:
        require(key.get("use") == "sig" and key.get("alg") in ("RS256", "ES256"), f"use {key.get('use')}, alg {key.get('alg')}")


@check
def keys_are_strong(op):
    """RFC 7518 section 3.3: RSA keys have at least 2048 bits; those of ES256 are of P-256."""
    for key in op.keys.json["keys"]:
        size = len(key.get("n", "")) * 6
        require(key.get("crv") == "P-256" or size >= 2048, f"{key['kty']}, {size} bits, {key.get('crv')}")


@check
def keys_are_cached(op):
    """Core 10.1.1: the key set says how long it may be cached, and what is known need not be sent again."""
    require("max-age" in (op.keys.headers["Cache-Control"] or ""), f"Cache-Control: {op.keys.headers['Cache-Control']}")
    reply = call("GET", op.metadata["jwks_uri"], {"If-None-Match": op.keys.headers["ETag"] or "none"})
    require(reply.status == 304, str(reply))
