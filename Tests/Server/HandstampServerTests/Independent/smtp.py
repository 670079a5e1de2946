"""A mail server that shares no code with ours: aiosmtpd. Its one argument is a JSON object; it prints its port, then each mail as a line
of JSON, and ends with its standard input."""
import asyncio, json, ssl, sys
from aiosmtpd.smtp import SMTP, AuthResult

options = json.loads(sys.argv[1])
context = None
if options.get("certificate"):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(options["certificate"] + ".pem", options["certificate"] + ".key")


def say(value):
    print(json.dumps(value), flush=True)


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, mail_options):
        if options.get("mail"):
            return options["mail"].pop(0)
        envelope.mail_from = address
        envelope.mail_options.extend(mail_options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if options.get("rcpt"):
            return options["rcpt"].pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if options.get("data"):
            return options["data"].pop(0)
        say({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "options": envelope.mail_options, "name": session.host_name,
            "text": envelope.original_content.decode(), "tls": server.transport.get_extra_info("sslcontext") is not None,
            "user": session.auth_data.decode() if session.authenticated else None,
        })
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    if (data.login, data.password) == (b"handstamp", b"correct horse"):
        return AuthResult(success=True, auth_data=data.login)
    return AuthResult(success=False, handled=False)


def protocol():
    if options.get("silent"):
        return asyncio.Protocol()
    return SMTP(
        Handler(), hostname="localhost", enable_SMTPUTF8=options.get("utf8", False),
        tls_context=context if options.get("tls") == "starttls" else None,
        require_starttls=options.get("tls") == "starttls", auth_required=options.get("auth", False),
        auth_require_tls=False, authenticator=authenticate)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        protocol, "127.0.0.1", 0, ssl=context if options.get("tls") == "smtps" else None)
    say(server.sockets[0].getsockname()[1])
    await asyncio.wait_for(loop.run_in_executor(None, sys.stdin.read), 120)


asyncio.run(main())
