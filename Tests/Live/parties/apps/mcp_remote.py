"""A remote MCP server with the reference SDK: MCP_PORT is its port, MCP_ISSUER the server that issues its tokens, which it asks about them as the client
`remote`, MCP_SCOPE what it needs. `write` needs a scope of its own."""
import asyncio, base64, json, os, urllib.parse, urllib.request

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer

PORT, ISSUER = int(os.environ["MCP_PORT"]), os.environ["MCP_ISSUER"]
URL = f"http://127.0.0.1:{PORT}/mcp"


SECRET, SCOPE = os.environ.get("MCP_SECRET", ""), os.environ.get("MCP_SCOPE", "read")

with urllib.request.urlopen(ISSUER + "/.well-known/oauth-authorization-server") as answer:
    INTROSPECTION = json.load(answer)["introspection_endpoint"]


def look(token):
    request = urllib.request.Request(INTROSPECTION, urllib.parse.urlencode(dict(token=token)).encode())
    request.add_header("Authorization", "Basic " + base64.b64encode(f"remote:{urllib.parse.quote(SECRET)}".encode()).decode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Verifier:
    async def verify_token(self, token):
        found = await asyncio.to_thread(look, token)
        audiences = found.get("aud", [])
        if not found["active"] or URL not in ([audiences] if isinstance(audiences, str) else audiences):
            return None
        return AccessToken(
            token=token, client_id=found["client_id"], scopes=found["scope"].split(), expires_at=found["exp"], resource=URL)


server = MCPServer(
    "remote", token_verifier=Verifier(),
    auth=AuthSettings(issuer_url=ISSUER, resource_server_url=URL, required_scopes=[SCOPE], validate_token_resource=True))


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
async def slow(steps: int, context: Context) -> int:
    for step in range(steps):
        await context.report_progress(step, steps)
        await asyncio.sleep(0.05)
    return steps


@server.tool()
def write(text: str) -> str:
    return "written " + text


class NeedsScope:
    """Refuses `write` without its scope, as RFC 6750 has it."""
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        parts, is_more = [], True
        while is_more:
            message = await receive()
            parts.append(message.get("body", b""))
            is_more = message.get("more_body", False)
        body = b"".join(parts)
        fields = dict(scope["headers"])
        token = fields.get(b"authorization", b"").decode().removeprefix("Bearer ")
        if b'"write"' in body and token and "write" not in (await asyncio.to_thread(look, token)).get("scope", "").split():
            challenge = 'Bearer error="insufficient_scope", scope="write"'
            await send({"type": "http.response.start", "status": 403, "headers": [(b"www-authenticate", challenge.encode()), (b"content-length", b"0")]})
            return await send({"type": "http.response.body", "body": b""})
        is_told = False

        async def again():
            nonlocal is_told
            if is_told:
                return await receive()
            is_told = True
            return {"type": "http.request", "body": body, "more_body": False}
        await self.app(scope, again, send)


uvicorn.run(NeedsScope(server.streamable_http_app()), host="127.0.0.1", port=PORT, log_level="error", timeout_graceful_shutdown=1)
