"""The metadata and the keys (OpenID Connect Discovery 1.0)."""
import urllib.parse

from kit.web import call, require
from parties.provider import EMAIL

# What is expected of a member of the metadata.
ROWS = [
    *[("Discovery 3: all required members are there, each with its type", name, lambda value: isinstance(value, str))
      for name in ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")],
    ("Discovery 3: response_types_supported has what is not refused", "response_types_supported", lambda value: value == ["code"]),
    ("RFC 8414 section 2: response_modes_supported has what is not refused", "response_modes_supported", lambda value: value == ["query"]),
    ("Discovery 3: grant_types_supported has authorization_code, and refresh_token since there are some", "grant_types_supported",
     lambda value: {"authorization_code", "refresh_token"} <= set(value)),
    ("Discovery 3: subject_types_supported has nothing but public and pairwise", "subject_types_supported", lambda value: set(value) <= {"public", "pairwise"}),
    ("Discovery 3: id_token_signing_alg_values_supported has RS256, here also ES256, and never none", "id_token_signing_alg_values_supported",
     lambda value: {"RS256", "ES256"} <= set(value) and "none" not in value),
    ("Discovery 3: scopes_supported has openid and what the clients may request", "scopes_supported",
     lambda value: {"openid", "profile", "email", "offline_access"} <= set(value)),
    ("Discovery 3: token_endpoint_auth_methods_supported has client_secret_basic and client_secret_post", "token_endpoint_auth_methods_supported",
     lambda value: {"client_secret_basic", "client_secret_post"} <= set(value)),
    ("RFC 8414 section 2, RFC 9700 section 2.1.1: code_challenge_methods_supported has S256, not plain", "code_challenge_methods_supported",
     lambda value: value == ["S256"]),
    *[("Discovery 3: what requests may not have is false in so many words, since the default of request_uri_parameter_supported is true", name,
       lambda value: value is False) for name in ("request_parameter_supported", "request_uri_parameter_supported", "claims_parameter_supported")],
    ("RFC 9207 section 3: answers name the issuer", "authorization_response_iss_parameter_supported", lambda value: value is True),
]


def check(name, holds, op):
    require(name in op.metadata and holds(op.metadata[name]), f"{name}: {op.metadata.get(name)}")


def discovery_is_json(op):
    """Discovery 4.2: the answer is 200 with application/json."""
    kind = op.discovery.headers["Content-Type"]
    require(op.discovery.status == 200 and kind.split(";")[0] == "application/json", f"{op.discovery.status}, {kind}")


def discovery_issuer(op):
    """Discovery 4.3: the issuer is the URL that the document was found by, without query and fragment."""
    issuer = op.metadata["issuer"]
    require(issuer == op.provider.issuer and not {"?", "#"} & set(issuer), issuer)


def discovery_no_empty_members(op):
    """Discovery 4.2: no member is an empty array or null."""
    empty = [name for name, value in op.metadata.items() if value in ([], None, "")]
    require(not empty, f"empty: {empty}")


def discovery_addresses(op):
    """Discovery 3: every URL is https, or here http on the loopback interface, and has no fragment."""
    for name, value in op.metadata.items():
        if name.endswith(("_endpoint", "_uri")):
            parts = urllib.parse.urlsplit(value)
            require(parts.scheme == "https" or (parts.scheme, parts.hostname) == ("http", "127.0.0.1"), f"{name}: {value}")
            require(not parts.fragment, f"{name}: {value}")


def discovery_endpoints_answer(op):
    """Discovery 3: each endpoint answers, if only with its own error."""
    for name, value in op.metadata.items():
        if name.endswith("_endpoint"):
            reply = call("GET" if name in ("authorization_endpoint", "end_session_endpoint") else "POST", value)
            require(reply.status < 500 and reply.status not in (404, 405), f"{name}: {reply}")


def discovery_claims(op):
    """Discovery 3: claims_supported has the claims that the ID token and UserInfo have."""
    about = op.plain.about(op.first.access).json
    missing = (set(op.first.claims) | set(about)) - set(op.metadata.get("claims_supported", []))
    require(not missing, f"without {missing}")


def discovery_of_oauth(op):
    """RFC 8414 section 3: the same document is at /.well-known/oauth-authorization-server."""
    reply = call("GET", op.provider.issuer + "/.well-known/oauth-authorization-server")
    require(reply.status == 200 and reply.json == op.metadata, str(reply))


def discovery_across_origins(op):
    """Fetch 3.2: pages of every origin may read the metadata and the keys, which are public."""
    for url in (op.provider.issuer + "/.well-known/openid-configuration", op.metadata["jwks_uri"]):
        origin = call("GET", url, {"Origin": "https://eve.example.org"}).headers["Access-Control-Allow-Origin"]
        require(origin == "*", f"{url}: Access-Control-Allow-Origin: {origin}")


def webfinger(op):
    """Discovery 2: WebFinger is not there, or names the issuer."""
    query = urllib.parse.urlencode(dict(resource="acct:" + EMAIL, rel="http://openid.net/specs/connect/1.0/issuer"))
    reply = call("GET", f"{op.provider.issuer}/.well-known/webfinger?{query}")
    links = [link.get("href") for link in reply.json.get("links", [])]
    require(reply.status == 404 or reply.status == 200 and links == [op.provider.issuer], str(reply))


def keys(op):
    """Discovery 3, RFC 7517 section 4.5, Core 10.1: every key is public, has a kid of its own, and says that it is for signatures, and by which algorithm."""
    keys = op.keys.json["keys"]
    require(len({key.get("kid") for key in keys} - {None, ""}) == len(keys), f"kid: {[key.get('kid') for key in keys]}")
    for key in keys:
        require(not {"d", "p", "q", "dp", "dq", "qi", "oth", "k"} & set(key), f"a private or symmetric key: {set(key)}")
        require(key.get("use") == "sig" and (key["kty"], key.get("alg")) in (("RSA", "RS256"), ("EC", "ES256")), f"{key}")


def keys_are_strong(op):
    """RFC 7518 section 3.3: RSA keys have at least 2048 bits; those of ES256 are of P-256."""
    for key in op.keys.json["keys"]:
        size = len(key.get("n", "")) * 6
        require(key.get("crv") == "P-256" or size >= 2048, f"{key['kty']}, {size} bits, {key.get('crv')}")


def keys_are_cached(op):
    """Core 10.1.1: the key set says how long it may be cached, and what is known need not be sent again."""
    require("max-age" in (op.keys.headers["Cache-Control"] or ""), f"Cache-Control: {op.keys.headers['Cache-Control']}")
    reply = call("GET", op.metadata["jwks_uri"], {"If-None-Match": op.keys.headers["ETag"] or "none"})
    require(reply.status == 304, str(reply))
