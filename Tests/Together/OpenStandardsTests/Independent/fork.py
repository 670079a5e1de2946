"""Runs scripts of this folder, each in a copy of this process, which has imported what takes longer than most tests. For tests.

It prints the port that it listens on. Each connection begins with a line of JSON, a script and its arguments, and is then the
script's standard input and output. It exits when its standard input closes.
"""
import json, os, runpy, select, signal, socket, sys

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import authlib.integrations.flask_oauth2, authlib.integrations.requests_client, authlib.oidc.core.grants, authlib.oauth2.rfc8628


def accepted():
    """Returns in each copy, and ends the process itself."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        print(listener.getsockname()[1], flush=True)
        while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
            with listener.accept()[0] as connection:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    os.dup2(connection.fileno(), 0)
                    os.dup2(connection.fileno(), 1)
                    return
    sys.exit()


accepted()
sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
script, *sys.argv[1:] = json.loads(sys.stdin.readline())
sys.argv[0] = os.path.join(os.path.dirname(__file__), script)
runpy.run_path(sys.argv[0], run_name="__main__")
