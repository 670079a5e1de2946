"""An authorization server that rotates refresh tokens strictly: the second use of one ends the session. It signs in anyone who opens its page, and
counts. A stand-in for the servers that remote MCP servers stand behind."""
import http.server, json, secrets, threading, time, urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document=None, **headers):
        body = json.dumps(document).encode() if document is not None else b""
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Cache-Control": "no-store", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        asked = {name: values[0] for name, values in urllib.parse.parse_qs(parts.query).items()}
        if parts.path == "/.well-known/oauth-authorization-server":
            return self.answer(200, self.server.strict.metadata)
        if parts.path == "/authorize":
            return self.answer(302, Location=self.server.strict.allow(asked))
        self.answer(404)

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        sent = {name: values[0] for name, values in urllib.parse.parse_qs(text).items()}
        if self.path == "/token":
            return self.answer(*self.server.strict.token(sent))
        if self.path == "/introspect":
            return self.answer(200, self.server.strict.look(sent.get("token")))
        if self.path == "/revoke":
            self.server.strict.revoke(sent.get("token"))
            return self.answer(200, {})
        self.answer(404)


class Strict:
    """`life` is that of access tokens, in seconds."""
    def __init__(self, life):
        self.life, self.lock = life, threading.Lock()
        self.codes, self.access, self.refresh, self.ended = {}, {}, {}, set()
        self.sign_ins = self.refreshes = self.reuses = 0
        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.web.daemon_threads, self.web.strict = True, self
        self.issuer = f"http://127.0.0.1:{self.web.server_port}"
        threading.Thread(target=self.web.serve_forever, daemon=True).start()

    @property
    def metadata(self):
        return dict(
            issuer=self.issuer, authorization_endpoint=self.issuer + "/authorize", token_endpoint=self.issuer + "/token",
            revocation_endpoint=self.issuer + "/revoke", introspection_endpoint=self.issuer + "/introspect", response_types_supported=["code"], code_challenge_methods_supported=["S256"],
            token_endpoint_auth_methods_supported=["none"], client_id_metadata_document_supported=True)

    def allow(self, asked):
        code = secrets.token_urlsafe(16)
        with self.lock:
            self.codes[code] = dict(client=asked["client_id"], scope=asked.get("scope", ""), resource=asked.get("resource"))
        back = dict(code=code, state=asked["state"])
        return asked["redirect_uri"] + "?" + urllib.parse.urlencode(back)

    def token(self, sent):
        with self.lock:
            if sent.get("grant_type") == "authorization_code" and sent.get("code") in self.codes:
                session = dict(self.codes.pop(sent["code"]), id=secrets.token_hex(8))
                if session["resource"] != sent.get("resource"):
                    return 400, dict(error="invalid_target")
                self.sign_ins += 1
            elif sent.get("grant_type") == "refresh_token" and sent.get("refresh_token") in self.refresh:
                session = self.refresh[sent["refresh_token"]]
                if session["used"] or session["id"] in self.ended:
                    self.reuses += session["used"]
                    self.ended.add(session["id"])
                    return 400, dict(error="invalid_grant")
                session["used"] = True
                self.refreshes += 1
            else:
                return 400, dict(error="invalid_grant")
            access, refresh = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
            aim = sent.get("resource") or session["resource"]
            self.access[access] = dict(session, end=time.time() + self.life, resource=aim)
            self.refresh[refresh] = dict(session, used=False)
            return 200, dict(
                access_token=access, token_type="Bearer", expires_in=self.life, refresh_token=refresh, scope=session["scope"])

    def revoke(self, token):
        with self.lock:
            if session := self.refresh.get(token) or self.access.get(token):
                self.ended.add(session["id"])

    def look(self, token):
        with self.lock:
            found = self.access.get(token)
            if not found or found["id"] in self.ended or found["end"] < time.time():
                return dict(active=False)
            return dict(active=True, client_id=found["client"], scope=found["scope"], aud=found["resource"], exp=int(found["end"]) + 1)

    def stop(self):
        self.web.shutdown()
