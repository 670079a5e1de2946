"""A remote MCP server with the reference SDK: MCP_PORT is its port, MCP_ISSUER the server that issues its tokens, which it asks about them as the client
`remote`, MCP_SCOPE what it needs. `write` needs a scope of its own."""
import asyncio, base64, json, os, urllib.parse, urllib.request

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from starlette.responses import Response

PORT, ISSUER = int(os.environ["MCP_PORT"]), os.environ["MCP_ISSUER"]
SECRET, SCOPE = os.environ.get("MCP_SECRET", ""), os.environ.get("MCP_SCOPE", "read")
URL = f"http://127.0.0.1:{PORT}/mcp"

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
def write(text: str) -> str:
    return "written " + text


app = server.streamable_http_app()


async def with_scopes(scope, receive, send):
    """Refuses `write` without its scope, as RFC 6750 has it."""
    fields, answer = dict(scope.get("headers", [])), app
    token = fields.get(b"authorization", b"").decode().removeprefix("Bearer ")
    if token and fields.get(b"mcp-name") == b"write" and "write" not in (await asyncio.to_thread(look, token)).get("scope", "").split():
        answer = Response(status_code=403, headers={"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="write"'})
    await answer(scope, receive, send)


uvicorn.run(with_scopes, host="127.0.0.1", port=PORT, log_level="error", timeout_graceful_shutdown=1)
