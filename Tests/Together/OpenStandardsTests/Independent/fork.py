"""Runs scripts of this folder, each in a copy of this process, which has imported what takes longer than most tests. For tests.

It prints the path of a socket, which is the user's alone. Each connection begins with a line of JSON, a script and its arguments, and is then the
script's standard input and output. It exits when its standard input closes.
"""
import json, os, runpy, select, shutil, signal, socket, sys, tempfile

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../Live"))

import authlib.integrations.flask_oauth2, authlib.integrations.requests_client, authlib.oidc.core.grants, authlib.oauth2.rfc8628


def accepted():
    """Returns in each copy, and ends the process itself."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    folder = tempfile.mkdtemp()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(folder + "/socket")
        listener.listen(64)
        print(folder + "/socket", flush=True)
        while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
            with listener.accept()[0] as connection:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    os.dup2(connection.fileno(), 0)
                    os.dup2(connection.fileno(), 1)
                    return
    shutil.rmtree(folder)
    sys.exit()


accepted()
sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
script, *sys.argv[1:] = json.loads(sys.stdin.readline())
sys.argv[0] = os.path.join(os.path.dirname(__file__), script)
runpy.run_path(sys.argv[0], run_name="__main__")
