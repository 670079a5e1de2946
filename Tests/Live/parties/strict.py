"""An authorization server that rotates refresh tokens strictly: the second use of one ends the session. It signs in anyone who opens its page, and
counts. A stand-in for the servers that remote MCP servers stand behind."""
import secrets, threading, time, urllib.parse

from kit.web import fields
from parties.hostile import Listener


class Strict(Listener):
    """`life` is that of access tokens, in seconds."""

    def __init__(self, life):
        self.life, self.lock = life, threading.Lock()
        self.codes, self.access, self.refresh, self.ended = {}, {}, {}, set()
        self.sign_ins = self.refreshes = self.reuses = 0
        super().__init__(self.respond)

    def respond(self, request):
        path, sent = request.path.split("?")[0], dict(urllib.parse.parse_qsl(request.body))
        with self.lock:
            if path == "/.well-known/oauth-authorization-server":
                request.give(self.metadata())
            elif path == "/authorize":
                request.give(status=302, location=self.allow(fields(request.path)))
            elif path == "/token":
                document = self.token(sent)
                request.give(document, 400 if "error" in document else 200, cache_control="no-store")
            elif path == "/introspect":
                request.give(self.look(sent.get("token")))
            elif path == "/revoke":
                self.revoke(sent.get("token"))
                request.give({})
            else:
                request.give(status=404)

    def metadata(self):
        places = {name + "_endpoint": f"{self.url}/{end}" for name, end in (
            ("authorization", "authorize"), ("token", "token"), ("revocation", "revoke"), ("introspection", "introspect"))}
        return dict(places, issuer=self.url, response_types_supported=["code"], code_challenge_methods_supported=["S256"],
                    token_endpoint_auth_methods_supported=["none"], client_id_metadata_document_supported=True)

    def allow(self, asked):
        code = secrets.token_urlsafe(16)
        self.codes[code] = dict(client=asked["client_id"], scope=asked.get("scope", ""), resource=asked.get("resource"), id=secrets.token_hex(8))
        return asked["redirect_uri"] + "?" + urllib.parse.urlencode(dict(code=code, state=asked["state"]))

    def token(self, sent):
        if sent.get("grant_type") == "authorization_code" and sent.get("code") in self.codes:
            session = self.codes.pop(sent["code"])
            if session["resource"] != sent.get("resource"):
                return dict(error="invalid_target")
            self.sign_ins += 1
        elif sent.get("grant_type") == "refresh_token" and sent.get("refresh_token") in self.refresh:
            session = self.refresh[sent["refresh_token"]]
            if session["used"] or session["id"] in self.ended:
                self.reuses += session["used"]
                self.ended.add(session["id"])
                return dict(error="invalid_grant")
            session["used"] = True
            self.refreshes += 1
        else:
            return dict(error="invalid_grant")
        access, refresh = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        self.access[access] = dict(session, end=time.time() + self.life, resource=sent.get("resource") or session["resource"])
        self.refresh[refresh] = dict(session, used=False)
        return dict(access_token=access, token_type="Bearer", expires_in=self.life, refresh_token=refresh, scope=session["scope"])

    def revoke(self, token):
        if session := self.refresh.get(token) or self.access.get(token):
            self.ended.add(session["id"])

    def look(self, token):
        found = self.access.get(token)
        if not found or found["id"] in self.ended or found["end"] < time.time():
            return dict(active=False)
        return dict(active=True, client_id=found["client"], scope=found["scope"], aud=found["resource"], exp=int(found["end"]) + 1)
