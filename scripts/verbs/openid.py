"""Proves the OpenID provider with programs of others.

Starts the server with a person and clients, and lets mod_auth_openidc, Authlib, oidc-agent and matrix-synapse sign the person in and out, and those of
Tests/Live/parties/programs.py in. Also makes the checks of the OpenID Foundation's conformance profiles. Prints a line for each. Installs what comes from
PyPI into the user's cache, what comes from Debian with apt-get."""
import sys, time, urllib.parse

from kit import build, server
from kit.report import Report
from kit.server import free_port
from kit.web import Person, fields, require, until
from parties.agent import Agent
from parties.apache import Apache
from parties.conformance import conformance
from parties.matrix import Synapse
from parties.programs import APIS, LONG, SHORT
from parties.provider import EMAIL, PASSWORD, Provider
from parties.rely import Application

NEEDS = ["--tests"]


def options(parser):
    parser.add_argument("--deep", action="store_true", help="all, also those that install many packages")
    parser.add_argument("names", nargs="*", help="only these")


def ada():
    return Person(EMAIL, PASSWORD)


def mod_auth_openidc():
    """Signs in, with consent once; is signed out from the phone within a second, and by its own logout."""
    provider = Provider()
    front = Apache(provider.folder)
    secret = provider.add(
        "wiki", "--name", "The wiki", "--redirect-uri", front.redirect, "--backchannel-logout-uri", front.logout,
        "--post-logout-redirect-uri", front.url + "/bye.html")
    provider.start()
    front.start(provider.issuer, "wiki", secret)
    try:
        person = ada()
        page = person.pass_through(front.url + "/private/")
        require(page.status == 200 and page.title == "Private", f"no sign-in: {person.seen} {page.text[:300]}")
        require(page.headers["X-Name"] == "Ada" and page.headers["X-Email"] == EMAIL, f"claims: {dict(page.headers)}")
        require(page.headers["X-User"].startswith("acc_"), f"user: {page.headers['X-User']}")
        again = ada()
        again.cookies[f"127.0.0.1:{provider.port}"] = person.cookies[f"127.0.0.1:{provider.port}"]
        page = again.open(front.url + "/private/")
        require(page.title == "Private", f"the second time something is asked: {again.seen}")
        for session in provider.sessions("The wiki"):
            provider.end_session(session)
        for each in (person, again):
            until(lambda: each.load("GET", front.url + "/private/").status == 302, "Apache still has the session", 1, 0.005)
        page = person.pass_through(front.url + "/private/")
        require(page.title == "Private", f"no sign-in afterwards: {person.seen}")
        bye = person.open(front.redirect + "?logout=" + urllib.parse.quote(front.url + "/bye.html", safe=""))
        require(bye.title == "Bye", f"no way back after its own logout: {person.seen}")
        require(person.open(provider.issuer + "/account").title == "Sign in", "the browser is still signed in")
        return "signed in by metadata, PKCE and ES256; consent once; signed out by the back channel and by its own logout"
    finally:
        front.stop()


def authlib():
    """Authlib verifies what the provider says, with ES256 and RS256: sign-in, refresh, a pushed request, logout."""
    provider, scope = Provider(), "openid profile email offline_access"
    apps = [Application("es", "ES256"), Application("rs", "RS256")]
    for app in apps:
        app.join(provider, *[f"--scope={each}" for each in scope.split()])
    provider.start()
    for app in apps:
        app.discover()
        person = ada()
        claims = app.finish(person.pass_through(app.begin(scope), until=app.back).url)
        require(claims["sub"].startswith("acc_") and claims["sid"], f"claims: {dict(claims)}")
        about = app.session.get(app.metadata["userinfo_endpoint"]).json()
        require(about["sub"] == claims["sub"] and about["email"] == EMAIL and about["name"] == "Ada", f"userinfo: {about}")
        again = app.claims(app.session.refresh_token(app.metadata["token_endpoint"]))
        require(again["sub"] == claims["sub"] and again["sid"] == claims["sid"], f"refreshed: {dict(again)}")
        require("nonce" not in again, "the nonce is repeated")
        pushed = app.session.post(app.metadata["pushed_authorization_request_endpoint"], withhold_token=True, auth=(app.id, app.secret), data=dict(
            fields(app.begin("openid")), client_id=app.id)).json()
        address = app.metadata["authorization_endpoint"] + "?client_id=" + app.id + "&request_uri=" + pushed["request_uri"]
        last = app.finish(person.open(address, until=app.back).url)
        require(last["sub"] == claims["sub"], "the pushed request is lost")
        query = f"?id_token_hint={app.token['id_token']}&post_logout_redirect_uri={app.bye}&state=x7"
        bye = person.open(app.metadata["end_session_endpoint"] + query, until=app.bye)
        require(fields(bye.url) == {"state": "x7"}, f"no way back: {person.seen[-5:]}")
        until(lambda: app.logout_token()["sid"] == last["sid"], "the application is told of other sessions only")
        app.stop()
    return "verified with ES256 and RS256: sign-in, refresh, a pushed request, logout and its token"


def oidc_agent():
    """oidc-agent signs a person in by the browser, refreshes twice, and gets nothing after the session has ended."""
    provider, redirect = Provider(), f"http://localhost:{free_port()}"
    provider.add("agent", "--name", "The agent", "--is-public", "--redirect-uri", redirect, "--scope=openid", "--scope=profile", "--scope=offline_access")
    provider.start()
    agent = Agent(provider.folder)
    try:
        agent.sign_in(provider.issuer, "agent", redirect, ada())
        tokens = [agent.token(), agent.token()]
        require(all(tokens) and tokens[0] != tokens[1], f"tokens: {tokens}")
        (session,) = provider.sessions("The agent")
        provider.end_session(session)
        require(not agent.token(), "there are tokens after the end")
        return "signed in by the browser with PKCE, refreshed twice, refused after the session has ended"
    finally:
        agent.stop()


def synapse():
    """matrix-synapse signs a person in by the browser, and ends its session when the provider's has ended."""
    provider = Provider()
    chat = Synapse(provider.folder)
    secret = provider.add(
        "chat", "--name", "The chat", "--redirect-uri", chat.redirect, "--backchannel-logout-uri", chat.logout)
    provider.start()
    try:
        chat.start(provider.issuer, secret)
        token = chat.sign_in(ada())
        status, about = chat.whoami(token)
        require(status == 200 and about["user_id"] == "@ada:example.org", f"signed in as {about}")
        (session,) = provider.sessions("The chat")
        provider.end_session(session)
        start = time.time()
        until(lambda: chat.whoami(token)[0] == 401, "the chat is still signed in", 5, 0.02)
        return f"signed in by the browser; signed out {(time.time() - start) * 1000:.0f} ms after the end"
    finally:
        chat.stop()


def main(options):
    short = [conformance, mod_auth_openidc, authlib, oidc_agent, *SHORT]
    report = Report([*short, synapse, *LONG, *APIS], options.names if options.names or options.deep else [case.__name__ for case in short])
    if words := report.unknown():
        sys.exit("openid: " + words)
    server.PROGRAM = build.program()
    return report.run_all()
